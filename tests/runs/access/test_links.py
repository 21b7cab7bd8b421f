"""Links: whoever has one reads one run, live, in the link view, until it is revoked."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.models import Grant, Run, Thread
from tests.asgi import Exchange, ask, events_of
from tests.cast import Cast, LiveRun, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "alice-said-this-to-her-agent"
OWN = {"origin": "http://localhost"}


def link(cast: Cast, what: Run | Thread, **terms: Any) -> str:
    """The address of a new link."""
    return f"/shared/{sharing.share(cast.alice.principal, what, To(), Terms(**terms))[1]}"


async def ended(cast: Cast, writer: JournalWriter, **body: Any) -> Run:
    message = {"role": "user", "content": SECRET}
    run = await db(lambda: start(cast.alice, messages=[message], **body))
    return await perform(run, writer)


async def test_anybody_with_it_reads_the_link_view(cast: Cast, writer: JournalWriter) -> None:
    private = "only-in-the-input"
    run = await ended(cast, writer, context=[{"description": "d", "value": private}])
    base = await db(link, cast, run)
    page = await ask("GET", f"{base}/")
    assert page.status == 200
    assert page.headers["referrer-policy"] == "strict-origin"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert private not in page.body.decode()
    answer = await ask("GET", f"{base}/runs/{run.pk}/events")
    events = events_of(answer.body)
    assert [seq for seq, _ in events] == list(range(1, run.journal.head + 1))
    assert "input" not in events[0][1]
    status = await ask("GET", f"{base}/runs/{run.pk}/status")
    assert status.json["status"] == "succeeded"
    for cursor in range(1, run.journal.head):
        rest = await ask("GET", f"{base}/runs/{run.pk}/events", {"last-event-id": str(cursor)})
        assert events_of(rest.body) == events[cursor:]
    last = {"last-event-id": str(run.journal.head)}
    assert (await ask("GET", f"{base}/runs/{run.pk}/events", last)).status == 204
    over = {"last-event-id": str(run.journal.head + 1)}
    assert (await ask("GET", f"{base}/runs/{run.pk}/events", over)).status == 400


async def test_it_leads_to_nothing_else(cast: Cast, writer: JournalWriter) -> None:
    run, other = await ended(cast, writer), await ended(cast, writer)
    base = await db(link, cast, run)
    for path in ("", "/events", "/status", "/comments"):
        url = f"{base}/runs/{other.pk}{path}" + ("" if path else "/")
        assert (await ask("GET", url)).status == 404
    assert (await ask("GET", f"/shared/{'x' * 43}/")).status == 404
    token = base.removeprefix("/shared/")
    answer = await ask("GET", "/api/v1/runs", {"authorization": f"Bearer {token}"})
    assert answer.status == 401
    assert token not in str(await db(lambda: list(Grant.objects.values())))


async def test_hidden_arguments_come_whole_before_the_end(
    cast: Cast, register: Any, writer: JournalWriter
) -> None:
    call = {"toolCallId": "c"}
    args = {"type": "TOOL_CALL_ARGS", **call}

    async def agent(ctx: Any) -> Any:
        yield {"type": "TOOL_CALL_START", **call, "toolCallName": "send"}
        for delta in ('{"password": "hun', 'ter2", "to"', ': "bob"}'):
            yield {**args, "delta": delta}
        yield {"type": "TOOL_CALL_END", **call}
        yield {"type": "RAW", "event": "hunter2"}

    row = await db(register, "sender", agent)
    run = await perform(await db(start, cast.alice, row), writer)
    base = await db(lambda: link(cast, run, redact=["password"]))
    url = f"{base}/runs/{run.pk}/events"
    body = (await ask("GET", url)).body
    assert b"hunter2" not in body
    assert b"ter2" not in body
    deltas = [event["delta"] for _, event in events_of(body) if event["type"] == "TOOL_CALL_ARGS"]
    assert deltas == ['{"password":"[redacted]","to":"bob"}']
    numbered = [seq for seq, _ in events_of(body) if seq]
    # whoever was cut off anywhere before the END gets the call again, whole
    for cursor in range(2, 6):
        rest = (await ask("GET", url, {"last-event-id": str(cursor)})).body
        assert b'"[redacted]\\"' in rest.replace(b'\\"[redacted]', b'"[redacted]')
        assert events_of(rest)[0][1]["type"] == "TOOL_CALL_ARGS"
    assert numbered[-1] == run.journal.head


async def test_a_thread_link_shows_all_its_runs(cast: Cast, writer: JournalWriter) -> None:
    one = await ended(cast, writer, threadId="t")
    base = await db(link, cast, one.thread)
    two = await ended(cast, writer, threadId="t")
    page = (await ask("GET", f"{base}/")).body.decode()
    for run in (one, two):
        assert f"runs/{run.pk}/" in page
        assert (await ask("GET", f"{base}/runs/{run.pk}/")).status == 200
        assert (await ask("GET", f"{base}/runs/{run.pk}/events")).status == 200


async def test_revoked_it_ends_what_is_open(
    cast: Cast, writer: JournalWriter, settings: Any
) -> None:
    settings.AGUI_SSE_HEARTBEAT = 0.1
    live = await LiveRun.begin(await db(start, cast.alice), writer)
    base = await db(link, cast, live.run)
    url = f"{base}/runs/{live.run.pk}/events"
    async with Exchange("GET", url) as reader:
        await live.say("first")
        await reader.until(b'"first"')
        grant = await db(Grant.objects.get)
        await db(sharing.revoke, cast.alice.principal, grant.pk)
        rest = await reader.rest()
    assert b": revoked" in rest
    await live.say("second")
    for address in (url, f"{base}/", f"{base}/runs/{live.run.pk}/status"):
        assert (await ask("GET", address)).status == 404
    await live.end()


async def test_a_sign_in_may_be_asked_for(cast: Cast, writer: JournalWriter) -> None:
    run = await ended(cast, writer)
    base = await db(lambda: link(cast, run, sign_in=True))
    stranger = await ask("GET", f"{base}/")
    assert stranger.status == 302
    assert stranger.headers["location"].startswith("/login/?next=/shared/")
    assert (await ask("GET", f"{base}/runs/{run.pk}/events")).status == 401
    # anybody who is signed in, of whatever team
    assert (await ask("GET", f"{base}/", cast.charlie.cookie)).status == 200
    answer = await ask("GET", f"{base}/runs/{run.pk}/events", cast.charlie.cookie)
    assert answer.status == 200
    assert events_of(answer.body)


async def test_a_link_may_let_people_comment(cast: Cast, writer: JournalWriter) -> None:
    run = await ended(cast, writer)
    base, mute = await db(lambda: link(cast, run, level="comment")), await db(link, cast, run)
    body, url = {"text": "Well done, @bob", "seq": 1}, f"/runs/{run.pk}/comments"
    charlie = {**cast.charlie.cookie, **OWN}
    assert (await ask("POST", f"{base}{url}", OWN, json=body)).status == 403
    assert (await ask("POST", f"{mute}{url}", charlie, json=body)).status == 403
    assert (await ask("GET", f"{mute}{url}", charlie)).status == 403
    foreign = {**cast.charlie.cookie, "origin": "https://evil.example"}
    assert (await ask("POST", f"{base}{url}", foreign, json=body)).status == 403
    answer = await ask("POST", f"{base}{url}", charlie, json=body)
    assert answer.status == 201
    assert (answer.json["author"], answer.json["mentions"]) == ("user:charlie", [])
    comments = await ask("GET", f"/api/v1/runs/{run.pk}/comments", cast.bob.headers)
    assert comments.json["comments"][0]["seq"] == 1


async def test_one_run_of_a_private_thread_does_not_show_its_history(
    cast: Cast, writer: JournalWriter
) -> None:
    await ended(cast, writer, threadId="t")
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
    await db(lambda: Thread.objects.update(visibility="private"))
    await db(sharing.share, cast.alice.principal, live.run, To(member="bob"), Terms())
    sse = {"accept": "text/event-stream"}
    async with Exchange("GET", live.url, {**cast.alice.cookie, **sse}) as reader:
        assert SECRET.encode() in await reader.until(b"id: 1\n")
    async with Exchange("GET", live.url, {**cast.bob.cookie, **sse}) as reader:
        assert SECRET.encode() not in await reader.until(b"id: 1\n")
    await live.end()


async def test_a_member_whose_grant_ends_stops_reading(
    cast: Cast, writer: JournalWriter, settings: Any
) -> None:
    settings.AGUI_SSE_HEARTBEAT = 0.1
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
    to = To(team=cast.other_team.pk)
    grant, _ = await db(sharing.share, cast.alice.principal, live.run, to, Terms())
    headers = {**cast.charlie.headers, "accept": "text/event-stream"}
    async with Exchange("GET", live.url, headers) as reader:
        await reader.until(b"RUN_STARTED")
        await db(sharing.revoke, cast.alice.principal, grant.pk)
        assert b": revoked" in await reader.rest()
    await live.end()
