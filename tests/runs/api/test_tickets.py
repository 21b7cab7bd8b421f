"""Stream tickets: one stream, soon; again with a cursor, for a while; never more than that."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core import signing
from django.db.models import F
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Membership, Role, StreamTicket, Team
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import Answer, Exchange, Headers, ask, events_of, watch
from tests.cast import Actor, Cast, LiveRun, start

pytestmark = pytest.mark.django_db(transaction=True)
TICKETS = "/api/v1/tickets"
SSE = {"accept": "text/event-stream"}
OWN = {"origin": "http://localhost"}


@pytest.fixture
async def ended(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A run of the thread ``t`` with three events."""
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
    await live.say("a")
    await live.end()
    return live


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="live"), writer)
    await live.say("a")
    return live


async def mint(actor: Actor | Headers, run: LiveRun | None = None, **body: Any) -> str:
    headers = actor.headers if isinstance(actor, Actor) else actor
    body = {"run": str(run.run.pk)} if run else body
    answer = await ask("POST", TICKETS, headers, json=body)
    assert answer.status == 201, answer.body
    return str(answer.json["ticket"])


async def read(run: LiveRun, ticket: str, headers: Headers = SSE, query: str = "") -> Answer:
    return await ask("GET", f"{run.url}?ticket={ticket}{query}", headers)


async def look(run: LiveRun, ticket: str, query: str = "") -> tuple[int, int]:
    """How many events a socket gets, and how it closes."""
    events, code = await watch(f"/ws/runs/{run.run.pk}/?ticket={ticket}{query}")
    return len(events), code


def back(seq: int) -> dict[str, str]:
    return {**SSE, "last-event-id": str(seq)}


def refused(answer: Answer) -> None:
    assert (answer.status, answer.code) == (401, "ticket_refused")


async def shift(field: str, **by: float) -> None:
    """Let time pass for all tickets."""
    await db(StreamTicket.objects.update, **{field: F(field) - timedelta(**by)})


class TestOpening:
    async def test_the_answer_says_where(self, cast: Cast, ended: LiveRun) -> None:
        for address in ("events_url", "websocket_url"):
            body = {"run": str(ended.run.pk)}
            minted = (await ask("POST", TICKETS, cast.vera.headers, json=body)).json
            assert (minted["opens_within"], minted["reopens_for"]) == (60, 900)
            if address == "events_url":
                answer = await ask("GET", minted[address], SSE)
                assert [seq for seq, _ in events_of(answer.body)] == [1, 2, 3]
            else:
                events, code = await watch(minted[address])
                assert (len(events), code) == (3, 1000)

    async def test_one_stream_only(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        assert (await read(ended, ticket)).status == 200
        refused(await read(ended, ticket))
        assert await look(ended, ticket) == (0, 4401)

    async def test_of_many_at_once_one_opens(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        answers = await asyncio.gather(*(read(ended, ticket) for _ in range(12)))
        assert sorted(answer.status for answer in answers) == [200] + [401] * 11

    async def test_within_a_minute(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        await shift("created_at", seconds=61)
        refused(await read(ended, ticket))
        refused(await read(ended, ticket, back(1)))
        ticket = await mint(cast.vera, ended)
        await shift("created_at", seconds=50)
        assert (await read(ended, ticket)).status == 200

    async def test_a_cookie_beside_it_does_not_count(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        for expected in (200, 401):
            answer = await read(ended, ticket, {**SSE, **cast.alice.cookie})
            assert answer.status == expected

    async def test_a_header_beside_it_does(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        assert (await read(ended, ticket, {**SSE, **cast.alice.headers})).status == 200
        wrong = {**SSE, "authorization": "Bearer nonsense"}
        assert (await read(ended, ticket, wrong)).code == "unauthenticated"
        assert (await read(ended, ticket)).status == 200, "it was not used up"

    async def test_a_page_of_another_origin(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        url = f"/ws/runs/{ended.run.pk}/?ticket={ticket}"
        events, code = await watch(url, {"origin": "https://app.example"})
        assert (len(events), code) == (3, 1000)


class TestReopening:
    async def test_with_last_event_id(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        await read(ended, ticket)
        for _ in range(2):
            answer = await read(ended, ticket, back(1))
            assert [seq for seq, _ in events_of(answer.body)] == [2, 3]
        assert (await read(ended, ticket, back(3))).status == 204, "which stops an EventSource"
        refused(await read(ended, ticket, SSE, "&after=1"))

    async def test_a_socket_with_a_cursor(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        assert await look(ended, ticket) == (3, 1000)
        assert await look(ended, ticket, "&after=1") == (2, 1000)
        assert await look(ended, ticket) == (0, 4401)

    async def test_for_a_quarter_of_an_hour(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.vera, ended)
        await read(ended, ticket)
        await shift("opened_at", minutes=14)
        await shift("created_at", minutes=15)
        assert (await read(ended, ticket, back(1))).status == 200
        await shift("opened_at", minutes=1)
        refused(await read(ended, ticket, back(1)))
        assert await look(ended, ticket, "&after=1") == (0, 4401)

    async def test_a_cursor_opens_nothing_that_was_not_open(
        self, cast: Cast, ended: LiveRun
    ) -> None:
        ticket = await mint(cast.vera, ended)
        await shift("created_at", seconds=61)
        assert await look(ended, ticket, "&after=0") == (0, 4401)


def revoke(cast: Cast) -> None:
    keys.revoke(ApiKey.objects.get(prefix=cast.vera.key_prefix))


def leave(cast: Cast) -> None:
    Membership.objects.filter(user=cast.vera.user).delete()


def deactivate(cast: Cast) -> None:
    User.objects.filter(pk=cast.vera.user.pk).update(is_active=False)


def sign_out(cast: Cast) -> None:
    Session.objects.filter(pk=cast.vera.session).delete()


def archive(cast: Cast) -> None:
    Team.objects.filter(pk=cast.team.pk).update(archived_at=timezone.now())


def delete_key(cast: Cast) -> None:
    ApiKey.objects.filter(prefix=cast.vera.key_prefix).delete()


def narrow(cast: Cast) -> None:
    ApiKey.objects.filter(prefix=cast.vera.key_prefix).update(scopes=["ingest"])


@pytest.mark.parametrize(
    ("how", "by", "status"),
    [
        (revoke, "headers", 401),
        (delete_key, "headers", 401),
        (narrow, "headers", 403),
        (archive, "headers", 401),
        (leave, "cookie", 401),
        (deactivate, "cookie", 401),
        (sign_out, "cookie", 401),
        (archive, "cookie", 401),
    ],
)
@pytest.mark.parametrize("opened", [False, True])
async def test_it_is_worth_what_the_credential_behind_it_is(
    cast: Cast, ended: LiveRun, how: Callable[[Cast], None], by: str, status: int, opened: bool
) -> None:
    ticket = await mint({**getattr(cast.vera, by), **OWN}, ended)
    if opened:
        assert (await read(ended, ticket)).status == 200
    await db(how, cast)
    assert (await read(ended, ticket, back(1))).status == status
    assert await look(ended, ticket, "&after=1") == (0, 4000 + status)


class TestBounds:
    async def test_another_run_is_not_there(
        self, cast: Cast, ended: LiveRun, live: LiveRun
    ) -> None:
        ticket = await mint(cast.alice, ended)
        answer = await read(live, ticket)
        assert (answer.status, answer.code) == (404, "not_found")
        refused(await read(ended, ticket))

    async def test_a_thread_opens_one_of_its_runs(self, cast: Cast, ended: LiveRun) -> None:
        second = await db(start, cast.alice, threadId="t")
        other = await db(start, cast.alice, threadId="other")
        for run in (second, other):
            await db(lifecycle.cancel, run, "host")

        async def opens(run: Run, ticket: str, headers: Headers = SSE) -> int:
            url = f"/api/v1/runs/{run.pk}/events?ticket={ticket}"
            return (await ask("GET", url, headers)).status

        ticket = await mint(cast.vera, thread_id="t")
        assert await opens(second, ticket) == 200
        assert await opens(second, ticket, back(1)) == 200
        assert await opens(ended.run, ticket, back(1)) == 401
        assert await opens(other, await mint(cast.vera, thread_id="t")) == 404
        assert await opens(ended.run, await mint(cast.vera, thread_id="t")) == 200

    async def test_it_opens_nothing_but_streams(self, cast: Cast, ended: LiveRun) -> None:
        ticket = await mint(cast.alice, ended)
        for url in (ended.url, f"/api/v1/runs/{ended.run.pk}", "/api/v1/runs", TICKETS):
            assert (await ask("GET", f"{url}?ticket={ticket}")).status in (401, 405)
        bearer = {"authorization": f"Bearer {ticket}"}
        assert (await ask("GET", "/api/v1/runs", bearer)).status == 401

    @pytest.mark.parametrize("change", ["cut", "longer", "another", "unsigned", "empty", "salt"])
    async def test_forgeries(self, cast: Cast, ended: LiveRun, change: str) -> None:
        ticket = await mint(cast.vera, ended)
        name, _, signature = ticket.partition(":")
        forged = {
            "cut": ticket[:-1],
            "longer": f"{ticket}x",
            "another": f"{'0' * 32}:{signature}",
            "unsigned": name,
            "empty": "",
            "salt": signing.Signer(salt="other").sign(name),
        }[change]
        refused(await read(ended, forged))
        assert await look(ended, forged) == (0, 4401)
        assert (await read(ended, ticket)).status == 200


class TestMinting:
    async def test_for_nobody_and_by_nobody(self, cast: Cast, ended: LiveRun) -> None:
        body = {"run": str(ended.run.pk)}
        assert (await ask("POST", TICKETS, json=body)).status == 401
        assert (await ask("POST", TICKETS, cast.charlie.headers, json=body)).status == 404
        answer = await ask("POST", TICKETS, cast.charlie.headers, json={"thread_id": "t"})
        assert answer.status == 404
        elsewhere = {**cast.vera.cookie, "origin": "https://evil.example"}
        assert (await ask("POST", TICKETS, elsewhere, json=body)).status == 403
        assert not await db(StreamTicket.objects.exists)

    async def test_by_a_key_that_may_not_read(self, cast: Cast, ended: LiveRun) -> None:
        text = (await db(keys.create_key, cast.team, "x", Role.OWNER, scopes=["ingest"]))[1]
        headers = {"authorization": f"Bearer {text}"}
        answer = await ask("POST", TICKETS, headers, json={"run": str(ended.run.pk)})
        assert (answer.status, answer.code) == (403, "forbidden")

    @pytest.mark.parametrize(
        "body", [{}, [], {"run": "x"}, {"run": None}, {"thread_id": ""}, "both"]
    )
    async def test_for_nothing_in_particular(self, cast: Cast, ended: LiveRun, body: Any) -> None:
        if body == "both":
            body = {"run": str(ended.run.pk), "thread_id": "t"}
        answer = await ask("POST", TICKETS, cast.vera.headers, json=body)
        assert (answer.status, answer.code) == (422, "invalid")

    async def test_old_ones_are_forgotten(self, cast: Cast, ended: LiveRun) -> None:
        for _ in range(3):
            await mint(cast.vera, ended)
        await shift("created_at", minutes=17)
        await mint(cast.vera, ended)
        assert await db(StreamTicket.objects.count) == 1


async def test_an_open_stream_ends_with_the_key_behind_it(cast: Cast, live: LiveRun) -> None:
    ticket = await mint(cast.vera, live)
    async with Exchange("GET", f"{live.url}?ticket={ticket}&after=0", SSE) as exchange:
        await exchange.until(b"id: 2\n")
        await db(revoke, cast)
        assert b": revoked\n" in await exchange.rest()
    refused(await read(live, ticket, back(2)))
    await live.end()
