"""The context that providers add to a run's input: stored with the run, visible to its team.

It goes to the agent and nowhere else. RUN_STARTED echoes the client's input; neither the log, nor
its fold, nor any stream contains this.
"""

import json
from typing import Any
from uuid import UUID

from agui_host.backends.postgres.bridge import db
from agui_host.errors import NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.context.person import Person
from agui_host.runtimes.context.request import RunRequest
from agui_host.runtimes.knowledge import documents
from agui_host.runtimes.options import BadOptions
from agui_host.runtimes.providers import chain
from agui_host.runtimes.providers.base import ContextEntry, Query
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Team
from runs.access import access
from runs.models import Run, Status

Wire = dict[str, Any]


async def provided(run: Run, body: Wire) -> tuple[Wire, list[str]]:
    """The input with the entries of the agent's context providers; stored before the agent sees it.

    Also the names of the providers that failed, for the run's findings.

    Raises RunFailed if a required provider fails or no longer exists.
    """
    providers = run.agent.providers()
    handed = json.loads(run.context)["added"] if run.context else []
    if not providers:
        return _with(body, handed), []
    team = await db(Team.objects.get, pk=run.team_id)
    kind, _, name = run.started_by.partition(":")
    text = RunRequest(body).text
    person = Person.of(run.end_user, run.started_by, run.person)
    query = Query(team, name if kind == "user" else "", text, run.starter, person)
    try:
        gathered = await chain.gather(providers, query)
    except BadOptions as bad:
        raise RunFailed(
            RunErrorCode.AGENT_ERROR, f"The agent's context cannot be read: {bad}"
        ) from None
    added = handed + [each for each in gathered.added if each not in handed]
    running = Run.objects.for_team(team).filter(pk=run.pk, status=Status.RUNNING)
    await db(running.update, context=dumps({"added": added, "failed": gathered.failed}))
    return _with(body, added), [each["provider"] for each in gathered.failed]


def _with(body: Wire, added: list[ContextEntry]) -> Wire:
    plain = [{key: each[key] for key in ("description", "value")} for each in added]
    return {**body, "context": [*(body.get("context") or []), *plain]} if plain else body


def apart(run: Run, entries: Any) -> tuple[Any, list[ContextEntry]]:
    """Splits the context that an agent passes on to another run: the client's, and the providers'.

    The providers' part can not be in the other run's input, whose log echoes that: ``hand_on``
    keeps it.
    """
    rows = Run.objects.for_team(run.team).filter(pk=run.pk)
    stored = rows.values_list("context", flat=True).get()
    if not stored or not isinstance(entries, list):
        return entries, []
    added = json.loads(stored)["added"]
    values = [each["value"] for each in added]
    current = [_value(each) for each in entries]
    own = [each for each in entries if _value(each) not in values]
    return own, [each for each in added if each["value"] in current]


def hand_on(run: Run, added: list[ContextEntry]) -> None:
    """Give a claimed run what providers had added for the run that started it."""
    if added:
        run.context = dumps({"added": added, "failed": []})
        run.save(update_fields=["context"])


def _value(entry: Any) -> Any:
    return entry.get("value") if isinstance(entry, dict) else None


def describe(principal: Principal, run_id: UUID) -> Wire:
    """``{"context": [{provider, description, value}], "failed": [{provider, reason}]}``.

    ``context`` is all that the agent got, in order; ``provider`` is null if the client sent it.
    Raises NotFound, also for a run that another team has shared; Forbidden for most keys.
    """
    run = access.find(principal, run_id)
    if run.team_id != principal.team.pk:
        raise NotFound("There is no such run.")
    documents.require_inside(principal)
    from_caller = [
        {"provider": None, "description": each["description"], "value": each["value"]}
        for each in patient_json.loads(run.input).get("context") or []
    ]
    stored = json.loads(run.context) if run.context else {"added": [], "failed": []}
    return {"context": [*from_caller, *stored["added"]], "failed": stored["failed"]}
