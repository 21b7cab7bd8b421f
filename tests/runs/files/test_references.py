"""Messages refer to files: what counts as a reference, who may make one, how long a file stays."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.input.file_references import references
from agui_host.runtimes.context.files import UnknownFile, inlined
from agui_host.runtimes.context.run_context import RunContext
from events.writer import JournalWriter
from runs.lifecycle.deletion import erasure, retention
from runs.lifecycle.files import uploads
from runs.models import File, FileReference, Run, Thread, Visibility
from tests.asgi import ask
from tests.cast import Cast, LiveRun, Register, perform
from tests.runs.files.attaching import asking_about, on_disk, uploaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("bell")]
ID = "0190a000-0000-7000-8000-000000000000"
ADDRESS = f"/api/v1/files/{ID}/content"


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ({"type": "file", "value": ID, "provider": "agui-host"}, True),
        ({"type": "file", "value": ID}, True),
        ({"type": "url", "value": ADDRESS}, True),
        ({"type": "url", "value": f"/api/v1/files/{ID}"}, True),
        ({"type": "url", "value": f"http://here{ADDRESS}"}, True),
        ({"type": "file", "value": ID, "provider": "openai"}, False),
        ({"type": "file", "value": "file-abc"}, False),
        ({"type": "url", "value": f"https://elsewhere.example{ADDRESS}"}, False),
        ({"type": "url", "value": f"http://here.example{ADDRESS}"}, False),
        ({"type": "data", "value": "aGVsbG8=", "mimeType": "text/plain"}, False),
        ({"type": "file", "value": 7}, False),
        ("no source", False),
    ],
)
def test_what_refers_to_a_file(source: Any, counts: bool) -> None:
    part = {"type": "image", "source": source}
    messages = [{"role": "user", "content": [part, "odd"]}, {"content": "x"}, "odd"]
    assert references(messages, ["http://here"]) == ([UUID(ID)] if counts else [])


def test_a_handle_of_ours_that_is_no_id_is_no_other_providers() -> None:
    part = {"type": "image", "source": {"type": "file", "value": "x", "provider": "agui-host"}}
    assert references([{"content": [part]}]) == [UUID(int=0)]


def rows() -> list[File]:
    return list(File.objects.all())


async def test_an_agent_reads_what_its_run_refers_to(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    file = await uploaded(cast.alice.headers, "größer".encode(), "a.txt")
    contents: list[Any] = []

    async def reads(ctx: RunContext) -> AsyncIterator[Any]:
        (part,) = [part for part in ctx.messages[0]["content"] if part["type"] == "document"]
        contents.append(await ctx.file(part).text())
        contents.append(ctx.file(file["id"]).sha256)
        contents.append([each.name for each in ctx.files])
        with pytest.raises(UnknownFile):
            ctx.file(ID)
        with ctx.message() as message:
            message.write("read")
        return
        yield

    def plain(ctx: RunContext) -> None:
        contents.append(ctx.file(file["content_url"]).read_now())

    for agent in (reads, plain):
        await db(register, agent.__name__, agent)
        for source in (file["source"], {"type": "url", "value": file["content_url"]}):
            body = {**asking_about(source), "agent": agent.__name__}
            answer = await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
            assert answer.status == 202, answer.body
            run = await db(Run.objects.get, pk=answer.json["id"])
            assert (await perform(run, writer)).status == "succeeded"
    assert contents[:3] == ["größer", file["sha256"], ["a.txt"]]
    assert contents[6:] == ["größer".encode()] * 2


async def test_a_file_of_somebody_else_starts_no_run(cast: Cast) -> None:
    """Unknown, another team's, a team mate's that they have shown nobody: all are the same."""
    file = await uploaded(cast.alice.headers)
    for actor, source in (
        (cast.charlie, file["source"]),
        (cast.charlie, {"type": "url", "value": file["content_url"]}),
        (cast.bob, file["source"]),
        (cast.alice, {**file["source"], "value": ID}),
        (cast.alice, {**file["source"], "value": "garbage"}),
    ):
        body = asking_about(file["source"], source) if actor is cast.alice else asking_about(source)
        answer = await ask("POST", "/api/v1/runs", actor.headers, json=body)
        assert (answer.status, answer.code) == (404, "unknown_file")
        streamed = await ask("POST", "/agui", actor.headers, json=body["input"])
        assert (streamed.status, streamed.code) == (404, "unknown_file")
    assert await db(Run.objects.count) == 0
    assert await db(Thread.objects.count) == 0


async def test_who_sees_a_thread_sees_its_files(cast: Cast) -> None:
    file = await uploaded(cast.alice.headers)
    address = f"/api/v1/files/{file['id']}"
    assert (await ask("GET", address, cast.bob.headers)).status == 404
    body = asking_about(file["source"], threadId="t")
    await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
    shared = await ask("GET", address, cast.bob.headers)
    assert (shared.status, shared.json["in_use"], shared.json["expires_at"]) == (200, True, None)
    threads = Thread.objects.filter(team=cast.team)
    await db(threads.update, visibility=Visibility.PRIVATE, creator="user:0")
    assert (await ask("GET", address, cast.bob.headers)).status == 404
    assert (await ask("GET", f"{address}/content", cast.bob.headers)).status == 404
    listed = await ask("GET", "/api/v1/files", cast.bob.headers)
    assert listed.json["results"] == []


async def test_a_file_stays_with_its_last_thread(cast: Cast, writer: JournalWriter) -> None:
    file = await uploaded(cast.alice.headers)
    for thread in ("t", "u"):
        body = asking_about(file["source"], threadId=thread)
        answer = await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
        run = await db(Run.objects.get, pk=answer.json["id"])
        await (await LiveRun.begin(run, writer)).end()
    refused = await ask("DELETE", f"/api/v1/files/{file['id']}", cast.alice.headers)
    assert (refused.status, refused.code) == (409, "file_in_use")
    first, second = await db(lambda: list(Thread.objects.order_by("pk")))
    await db(erasure.erase_thread, "host", first)
    assert await db(uploads.sweep) == 0
    # The other one is purged by its age.
    assert await db(retention.purge_thread, second.pk, timezone.now()) == 1
    assert await db(FileReference.objects.count) == 0
    assert (await ask("GET", f"/api/v1/files/{file['id']}", cast.alice.headers)).status == 404
    assert await db(uploads.sweep) == 1
    assert (await db(rows), on_disk(cast.team)) == ([], [])


async def test_what_nobody_uses_goes(cast: Cast) -> None:
    await uploaded(cast.alice.headers)
    await db(File.objects.filter(team=cast.team).update, expires_at=timezone.now())
    fresh = await uploaded(cast.alice.headers)
    await db(File.objects.create, team=cast.team, name="n", size=9, expires_at=timezone.now())
    assert len(on_disk(cast.team)) == 2
    assert await db(uploads.sweep) == 2, "the unused one, and an upload that never ended"
    assert on_disk(cast.team) == [fresh["id"]]
    assert (await ask("DELETE", f"/api/v1/files/{fresh['id']}", cast.alice.headers)).status == 204
    await db(type(cast.team).objects.filter(pk=cast.team.pk).update, legal_hold=True)
    assert await db(uploads.sweep) == 0, "nothing goes while its team is under legal hold"
    await db(type(cast.team).objects.filter(pk=cast.team.pk).update, legal_hold=False)
    assert await db(uploads.sweep) == 1


async def test_a_start_and_the_end_of_its_file_at_one_moment(cast: Cast) -> None:
    """Either the run starts and the file stays, or there is neither."""
    for _ in range(5):
        file = await uploaded(cast.alice.headers)
        start = ask("POST", "/api/v1/runs", cast.alice.headers, json=asking_about(file["source"]))
        delete = ask("DELETE", f"/api/v1/files/{file['id']}", cast.alice.headers)
        started, deleted = await asyncio.gather(start, delete)
        assert (started.status, deleted.status) in {(202, 409), (404, 204)}
        await db(uploads.sweep)
        assert (file["id"] in on_disk(cast.team)) == (started.status == 202)


async def test_an_erased_team_leaves_no_bytes(cast: Cast) -> None:
    await uploaded(cast.alice.headers)
    await db(erasure.erase_team, cast.team)
    assert on_disk(cast.team) == []


async def test_an_agent_elsewhere_gets_the_content(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """A command line reads it on its standard input, up to a bound; a remote agent the same."""
    small = await uploaded(cast.alice.headers, b"small")
    large = await uploaded(cast.alice.headers, b"large one")
    messages: list[Any] = []

    async def looks(ctx: RunContext) -> None:
        messages.extend(await inlined(ctx.messages, ctx.files, most=6))

    await db(register, "looks", looks)
    data = {"type": "data", "value": "eA==", "mimeType": "text/plain"}
    sources = (small["source"], large["source"], data)
    body = {**asking_about(*sources), "agent": "looks"}
    answer = await ask("POST", "/api/v1/runs", cast.alice.headers, json=body)
    run = await db(Run.objects.get, pk=answer.json["id"])
    assert (await perform(run, writer)).status == "succeeded"
    parts = [part["source"] for part in messages[0]["content"] if part["type"] == "document"]
    content = {"type": "data", "value": "c21hbGw=", "mimeType": "text/plain"}
    assert parts == [content, large["source"], data]
