"""A start by one message writes what the longer way writes, or nothing."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction

from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import AuditEntry, Team, TeamLimits
from runs.lifecycle import admission, lifecycle
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import ENDED, Run, TeamUsage
from tests.cast import Cast, start
from tests.runs.starting import nothing_written
from tests.together import frozen, together

pytestmark = pytest.mark.django_db(transaction=True)

OWN = {
    "id", "created_at", "journal_id", "thread_id", "stamp", "due_at", "request_digest", "input",
    "run_id", "newest",
}  # fmt: skip
"""What no two runs share."""


def request(thread: str = "t", run: str = "r", **body: Any) -> RunRequest:
    return run_agent_input.parse({"threadId": thread, "runId": run, **body}, agent="echo")


def at_once(cast: Cast, body: RunRequest | None = None, **options: Any) -> Run | None:
    choice = options.pop("choice", AgentChoice("echo", or_default=False, only=None))
    return lifecycle.start_at_once(
        Team.objects.get(pk=cast.team.pk),
        choice,
        body or request(),
        started_by=cast.bob.principal,
        **options,
    )


def columns(*rows: Any) -> list[dict[str, Any]]:
    return [
        {
            field.attname: getattr(row, field.attname)
            for field in row._meta.concrete_fields
            if field.attname not in OWN
        }
        for row in rows
    ]


def written(run: Run) -> list[dict[str, Any]]:
    """Everything that the start of a run leaves in the database, but for ids and times."""
    run = Run.objects.select_related("journal", "thread").get(pk=run.pk)
    line = AuditEntry.objects.get(action="run.started", target=str(run.pk))
    line.target, line.at = "", None  # type: ignore[assignment]
    assert run.due_at is not None
    return columns(run, run.journal, run.thread, line)


def test_it_writes_what_the_longer_way_writes(cast: Cast) -> None:
    body = {"protocolVersion": "1.0", "parentRunId": "p", "state": {"a": 1}}
    first = at_once(cast, request("a", **body), idempotency_key="k")
    assert first is not None
    agent = Agent.objects.for_team(cast.team).get(slug="echo")
    longer = lifecycle.start(
        cast.team, agent, request("b", **body), started_by=cast.bob.principal, idempotency_key="l"
    ).run
    assert (first.idempotency_key, longer.idempotency_key) == ("k", "l")
    Run.objects.update(idempotency_key=None)
    for ours, theirs in zip(written(first), written(longer), strict=True):
        assert ours == theirs


def test_what_it_returns_is_what_is_stored(cast: Cast) -> None:
    run = at_once(cast)
    assert run is not None
    stored = Run.objects.select_related("thread", "journal", "agent").get(pk=run.pk)
    assert columns(run, run.journal, run.thread) == columns(stored, stored.journal, stored.thread)
    assert (run.created_at, run.stamp) == (stored.created_at, stored.stamp)
    assert (run.agent.slug, run.agent.kind) == (stored.agent.slug, stored.agent.kind)
    assert run.stamp is not None


@pytest.mark.parametrize(
    "choice",
    [
        AgentChoice("nobody", or_default=False, only=None),
        AgentChoice("echo", or_default=False, only=["other"]),
        AgentChoice("fed", or_default=False, only=None),
        AgentChoice("off", or_default=False, only=None),
    ],
)
def test_an_agent_that_it_cannot_start(cast: Cast, choice: AgentChoice) -> None:
    """None, another's, one that is fed from elsewhere, one that is switched off."""
    for slug, kind, enabled in (("fed", "external", True), ("off", "python", False)):
        Agent.objects.create(team=cast.team, slug=slug, name=slug, kind=kind, enabled=enabled)
    with nothing_written():
        assert at_once(cast, choice=choice) is None


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_database_and_the_table_of_kinds_agree_on_each_kind(cast: Cast, kind: str) -> None:
    """A kind whose input is checked, or whose runs are fed, goes the longer way."""
    settings = {"argv": ["cli"]} if kind == "process" else {}
    Agent.objects.create(team=cast.team, slug="a", name="A", kind=kind, settings=settings)
    run = at_once(cast, choice=AgentChoice("a", or_default=False, only=None))
    assert (run is not None) == kinds.of(kind).starts_at_once


def test_what_has_to_be_weighed_is_left_to_the_longer_way(cast: Cast) -> None:
    start(cast.bob, threadId="there")
    earlier = at_once(cast, idempotency_key="k")
    assert earlier is not None
    answers = [{"interruptId": "q", "status": "resolved"}]
    with nothing_written():
        assert at_once(cast, request("there")) is None
        assert at_once(cast, request("other", resume=answers)) is None
        assert at_once(cast, request("other"), idempotency_key="k") is None


def test_limits_refuse(cast: Cast) -> None:
    TeamLimits.objects.create(team=cast.team, runs_per_minute=1)
    assert at_once(cast) is not None
    with nothing_written(), pytest.raises(LimitReached):
        at_once(cast, request("u"))
    TeamLimits.objects.update(runs_per_minute=0, concurrent_runs=1, queued_runs=1)
    waiting = at_once(cast, request("u"))
    assert waiting is not None
    assert waiting.stamp is None
    with nothing_written(), pytest.raises(LimitReached):
        at_once(cast, request("v"))


@pytest.mark.parametrize("place", range(7))
def test_a_scope_that_does_not_reach_the_team(cast: Cast, place: int) -> None:
    """The functions have their owner's rights: they look at the scope themselves."""
    own, other = str(cast.team.pk), str(cast.other_team.pk)
    scope, team, passes = (
        ("*", other, True), ("*", None, True), (own, own, True), (f"{own},{other}", other, True),
        (own, other, False), (own, None, False), ("", other, False),
    )[place]  # fmt: skip
    refusal: AbstractContextManager[Any] = (
        nullcontext() if passes else pytest.raises(ProgrammingError, match="does not reach")
    )
    with refusal, transaction.atomic(), connection.cursor() as cursor:
        message = f"set local agui.teams = '{scope}'; select agui_require_scope(%s)"
        cursor.execute(message, [team])


def test_a_run_that_finds_the_teams_lock_taken_gets_its_stamp_behind_it(cast: Cast) -> None:
    """Whoever has the lock looks no further: those who come meanwhile wait for it."""
    assert at_once(cast, request("first")) is not None
    with frozen(TeamUsage.objects.filter(team=cast.team)):
        run = at_once(cast, request("meanwhile"))
        assert run is not None
        assert run.stamp is None
    assert admission.admit_next(cast.team.pk) == 1
    run.refresh_from_db()
    assert run.stamp is not None


def test_many_at_once_all_get_a_stamp(cast: Cast) -> None:
    """Of the starts that meet, one admits; each of the others waits for it, outside of its own."""
    TeamLimits.objects.create(team=cast.team, concurrent_runs=20)
    runs = together(*[partial(at_once, cast, request(f"t{number}")) for number in range(12)])
    assert all(run is not None for run in runs)
    assert Run.objects.exclude(status__in=ENDED).filter(stamp=None).count() == 0
