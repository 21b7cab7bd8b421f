"""The cast: Alice, Bob and Vera in one team, Charlie in another; and a worker to run agents on."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from channels.layers import channel_layers
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import get_random_string

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from agui_host.teams import audit, keys
from agui_host.teams.actors import HOST
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Role, Team
from events.hub import hub
from events.models import Event
from events.writer import JournalWriter
from runs.lifecycle import admission, lifecycle
from runs.lifecycle.lifecycle import Claimed
from runs.models import Run
from runs.worker.executor import Stop, execute

ECHO = "echo"


@dataclass(frozen=True)
class Actor:
    """A person in one team, with a key of the same role."""

    user: User
    team: Team
    role: Role
    key: str
    session: str

    @property
    def headers(self) -> dict[str, str]:
        """What a program of this person sends."""
        return {"authorization": f"Bearer {self.key}"}

    @property
    def key_prefix(self) -> str:
        """What lists and logs call the key."""
        return keys.beginning(self.key)

    @property
    def cookie(self) -> dict[str, str]:
        """What the browser of this person sends by itself."""
        return {"cookie": f"{settings.SESSION_COOKIE_NAME}={self.session}"}

    @property
    def principal(self) -> Principal:
        return Principal("user", self.user.get_username(), self.team, self.role, self.user.pk)


@dataclass(frozen=True)
class Cast:
    """Who is there. Both teams have an agent ``echo``, which is their default."""

    team: Team
    other_team: Team
    alice: Actor
    bob: Actor
    vera: Actor
    charlie: Actor

    @property
    def echo(self) -> Agent:
        return Agent.objects.get(team=self.team, slug=ECHO)


@pytest.fixture
def cast(db: None, monkeypatch: pytest.MonkeyPatch) -> Cast:
    set_stage(monkeypatch)
    return gathered()


def set_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the agent, and no other."""
    monkeypatch.setattr(registry, "_agents", {})
    registry.agent(ECHO)(lambda ctx: ctx.text)


def gathered() -> Cast:
    """Both teams, their agents and people, in the database."""
    team = Team.objects.create(slug="acme", name="Acme")
    other_team = Team.objects.create(slug="globex", name="Globex")
    for owner in (team, other_team):
        Agent.objects.create(team=owner, slug=ECHO, name="Echo", target=ECHO, is_default=True)
    roles = {
        "alice": (team, Role.OWNER),
        "bob": (team, Role.MEMBER),
        "vera": (team, Role.VIEWER),
        "charlie": (other_team, Role.OWNER),
    }
    return Cast(team, other_team, **dict(zip(roles, _people(roles), strict=True)))


def _people(roles: Mapping[str, tuple[Team, Role]]) -> list[Actor]:
    """People who are signed in, with a key each.

    As rows, many at once: four real sign-ins and keys, each with a transaction, lines in the log
    and mail to the owners, took more than half of the time of most tests that have a cast.
    """
    users = User.objects.bulk_create(
        [User(username=n, password=make_password(None)) for n in roles]
    )
    people = [(user, *roles[user.username]) for user in users]
    now = timezone.now()  # Seen, so that no test counts the query that notes a first visit.
    Membership.objects.bulk_create(
        [Membership(user=u, team=t, role=r, last_seen_at=now) for u, t, r in people]
    )
    sessions = Session.objects.bulk_create([_session(user) for user in users])
    rows = [ApiKey(team=t, name=u.username, role=r) for u, t, r in people]
    texts = [ApiKey.objects.assign_key(row) for row in rows]
    ApiKey.objects.bulk_create(rows)
    AuditEntry.objects.bulk_create([_line(row) for row in rows])
    return [
        Actor(*person, text, row.session_key)
        for person, text, row in zip(people, texts, sessions, strict=True)
    ]


def _line(key: ApiKey) -> AuditEntry:
    """What making a key writes into the team's log."""
    made = {"role": str(key.role), "scopes": key.scopes}
    return audit.line(HOST, key.team, "key.created", key.prefix, **made)


def _person(name: str, team: Team, role: Role) -> Actor:
    (actor,) = _people({name: (team, role)})
    return actor


def _session(user: User) -> Session:
    """What signing in stores."""
    store = SessionStore()
    values = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[0],
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    return Session(
        session_key=get_random_string(32, VALID_KEY_CHARS),
        session_data=store.encode(values),
        expire_date=store.get_expiry_date(),
    )


Register = Callable[..., Agent]


@pytest.fixture
def register(cast: Cast) -> Register:
    """Put code behind a new agent of Alice's team."""
    return partial(new_agent, cast.team)


def new_agent(team: Team, slug: str, target: Any, **fields: Any) -> Agent:
    """An agent with its code."""
    registry.agent(slug)(target)
    row: Agent = Agent.objects.create(team=team, slug=slug, name=slug, target=slug, **fields)
    return row


def start(actor: Actor, agent: Agent | None = None, key: str | None = None, **body: Any) -> Run:
    """Start a run as the API does; a queued run, which no worker has seen."""
    agent = agent or Agent.objects.get(team=actor.team, is_default=True)
    return lifecycle.start(
        actor.team,
        agent,
        run_agent_input.parse(body),
        started_by=actor.principal,
        idempotency_key=key,
    ).run


def log_of(run: Run | UUID) -> list[dict[str, Any]]:
    """The stored events of a run, in order, and without a gap."""
    key = run.pk if isinstance(run, Run) else run
    rows = list(Event.objects.filter(journal_id=key).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [json.loads(row.payload) for row in rows]


def types_of(run: Run | UUID) -> list[str]:
    return [event["type"] for event in log_of(run)]


def fresh(run: Run) -> Run:
    """The run as the database has it now."""
    row: Run = Run.objects.select_related("journal", "thread").get(pk=run.pk)
    return row


@pytest.fixture
async def bell(transactional_db: None) -> AsyncIterator[None]:
    """Close what streams have opened in this test's loop."""
    yield
    await hub().close()
    await channel_layers["default"].flush()


@pytest.fixture
async def writer(bell: None) -> AsyncIterator[JournalWriter]:
    """A worker's writer, at work."""
    writer = JournalWriter(admission.FOLLOW_UP)
    working = asyncio.create_task(writer.run())
    yield writer
    writer.close()
    await asyncio.wait_for(working, 30)


async def perform(run: Run, writer: JournalWriter) -> Run:
    """Execute a queued run to its end, as the worker does; the ended run."""
    claimed = await db(lifecycle.claim, run.pk, begins=True)
    assert claimed
    await execute(claimed, writer, lambda: Stop.CANCEL)
    return await db(fresh, run)


class LiveRun:
    """A running run whose agent is the test."""

    def __init__(self, claimed: Claimed, writer: JournalWriter) -> None:
        run = claimed.run
        self.run = run
        self.url = f"/api/v1/runs/{run.pk}/events"
        self._lease = writer.open(claimed.claim)
        self._intake = Intake(run.thread.thread_id, run.run_id, input=json.loads(run.input))

    @classmethod
    async def begin(cls, run: Run, writer: JournalWriter) -> "LiveRun":
        """Claim the run; its log has RUN_STARTED."""
        claimed = await db(lifecycle.claim, run.pk)
        assert claimed
        live = cls(claimed, writer)
        live._lease.append(live._intake.start())
        await live._lease.flush()
        return live

    async def say(self, *words: str) -> None:
        """One stored event for each word."""
        for word in words:
            event = {"type": "CUSTOM", "name": "said", "value": word}
            self._lease.append(self._intake.accept(event))
        await self._lease.flush()

    async def end(self) -> None:
        """RUN_FINISHED, and the status with it."""
        await self._end(self._intake.finish())

    async def ask(self, question: str) -> None:
        """End with one open question."""
        interrupts = [{"id": question, "reason": "input_required"}]
        await self._end(self._intake.finish({"type": "interrupt", "interrupts": interrupts}))

    async def fail(self) -> None:
        """RUN_ERROR, and the status with it."""
        await self._end(self._intake.fail(RunErrorCode.AGENT_ERROR, "it broke"))

    async def _end(self, records: Sequence[Record]) -> None:
        also = partial(lifecycle.finish, self.run.pk, self._intake.terminal or {})
        self._lease.append(records, also=[also])
        await self._lease.flush()
