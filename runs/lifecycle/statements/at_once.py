"""A start in a fresh thread by one message: agent, thread, journal, run, audit line and stamp.

By itself each would be a statement, planned each time. What has to be weighed is left to
the longer way (``lifecycle.start``): an existing thread, questions, files, agents of some kinds.
"""

from contextlib import nullcontext
from typing import Any
from uuid import UUID

from django.db import connection

from agui_host.backends import epochs, tracing
from agui_host.backends.postgres import clock
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.protocol.strict_json import dumps
from agui_host.security.requester import ADDRESS
from agui_host.teams.actors import Actor
from agui_host.teams.limits import Limits
from agui_host.teams.models import Team
from events.models import Journal
from runs.lifecycle import admission
from runs.lifecycle.handover import handed
from runs.lifecycle.statements import agents, new_run
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import Run, Thread

# The function is in runs/sql/start.sql.
START = """
select agent, agent_slug, agent_name, agent_kind, agent_on_busy, made, job, taken_by,
       agent_version, team_version from agui_start_handed(
    %(team)s, %(wanted)s, %(or_default)s, %(only_agents)s::text[],
    %(new_thread)s, %(thread)s, %(run)s, %(run_name)s, %(parent)s, %(version)s,
    %(input)s, %(asked)s, %(key)s, %(digest)s, %(label)s, %(actor)s,
    %(line)s, %(address)s, %(trace)s,
    %(most_bytes)s, %(most_runs)s, %(since)s,
    %(default)s, %(batch)s, %(queue)s, %(task)s, %(at_once)s, %(queued)s, %(link)s)
"""


def start(
    team: Team,
    choice: AgentChoice,
    request: RunRequest,
    starter: Actor,
    limits: Limits,
    *,
    key: str | None,
    new_id: UUID | None,
) -> Run | None:
    """The new run; None, with nothing written, if only the longer way can tell.

    ``new_id``: the id that it is to have. Raises LimitReached, IntegrityError.
    """
    journal = Journal(id=new_id or clock.new_id(), epoch=epochs.latest)
    thread = Thread(
        team=team,
        thread_id=request.thread_id,
        created_by=starter.label,
        creator=starter.actor_id,
        newest=journal.pk,
    )
    run = new_run.of_request(
        journal,
        thread,
        request,
        starter,
        team=team,
        input=dumps(request.body),
        idempotency_key=key,
    )
    with handed.credit(len(run.input)) or nullcontext() as credit:
        with admission.refusing(limits), connection.cursor() as cursor:
            cursor.execute(START, _values(run, choice, limits, credit and credit.link))
            row = cursor.fetchone()
        if row is None:
            return None
        *agent, run.created_at, run.stamp, run.worker, agent_version, team_version = row
        run.agent = agents.of_row([team.pk, *agent, "ignore"])  # For others it returns no row.
        thread.created_at = run.created_at
        for instance in (run, run.journal, thread):
            instance._state.adding, instance._state.db = False, connection.alias
        if run.worker is not None:
            handed.hand(credit, handed.line(run, agent_version, team_version))
    return run


def _values(run: Run, choice: AgentChoice, limits: Limits, link: str | None) -> dict[str, Any]:
    return {
        **choice.values(run.team_id),
        **admission.check_of(run.team_id, limits),
        **admission.place_of(run, limits),
        "new_thread": run.thread_id,
        "thread": run.thread.thread_id,
        "run_name": run.run_id,
        "parent": run.parent_run_id,
        "version": run.protocol_version,
        "input": run.input,
        "asked": run.asked,
        "key": run.idempotency_key,
        "digest": run.request_digest,
        "label": run.started_by,
        "actor": run.starter,
        "line": clock.new_id(),
        "address": ADDRESS.get(),
        "trace": tracing.traceparent(),
        "link": link,
    }
