"""An archive: exported, imported as a read-only run, and exported again with the same bytes."""

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry
from events.models import Journal
from events.writer import JournalWriter
from runs.lifecycle.archive import form
from runs.lifecycle.deletion import retention
from runs.models import ImportedRun, Run, Thread, Visibility
from tests.asgi import Answer, ask
from tests.cast import Actor, Cast, LiveRun, start

pytestmark = pytest.mark.django_db(transaction=True)

SENDING = {"content-type": "application/x-ndjson"}
QUESTION = "Größe \u2028 <script>"


@pytest.fixture
async def ended(cast: Cast, writer: JournalWriter) -> Run:
    """A run that has ended, with state in its input."""
    body: Any = {"threadId": "t", "runId": "r", "state": {"a": 1}}
    live = await LiveRun.begin(await db(start, cast.alice, **body), writer)
    await live.say(QUESTION, "\x00 and \ud83d")
    await live.end()
    return live.run


async def exported(reader: Actor, run: object, kind: str = "archive") -> bytes:
    answer = await ask("GET", f"/api/v1/runs/{run}/export?format={kind}", reader.headers)
    assert answer.status == 200, answer.body
    return answer.body


async def restore(who: Actor, body: bytes) -> Answer:
    return await ask("POST", "/api/v1/runs/import", who.headers | SENDING, body=body)


async def test_export_import_export_gives_the_same_bytes(cast: Cast, ended: Run) -> None:
    first = await exported(cast.vera, ended.pk)
    answer = await restore(cast.bob, first)
    assert answer.status == 201
    copy = answer.json
    assert copy["id"] != str(ended.pk)
    original = (await ask("GET", f"/api/v1/runs/{ended.pk}", cast.bob.headers)).json
    differ = {name for name in copy if copy[name] != original[name]}
    assert differ == {
        "id",
        "thread_id",
        "agent_version",
        "events_url",
        "websocket_url",
        "stream_url",
    }
    assert await exported(cast.bob, copy["id"]) == first
    for kind in ("ndjson", "messages"):
        mine = await exported(cast.bob, copy["id"], kind)
        assert mine == await exported(cast.bob, ended.pk, kind)
    state = await ask("GET", f"/api/v1/runs/{copy['id']}/state?at=1", cast.bob.headers)
    assert state.json["state"] == {"a": 1}
    line = await db(AuditEntry.objects.for_team(cast.team).get, action="run.imported")
    assert line.target == copy["id"]

    await db(lambda: retention.purge_run(Run.objects.of_any_team().get(pk=copy["id"])))
    assert not await db(ImportedRun.objects.of_any_team().exists)
    again = await restore(cast.bob, first)
    assert again.status == 201


def edited(body: bytes, place: int, **fields: Any) -> bytes:
    lines = body.splitlines(keepends=True)
    lines[place] = json.dumps(json.loads(lines[place]) | fields).encode() + b"\n"
    return b"".join(lines)


async def test_what_was_cut_or_edited_or_is_foreign_is_refused(cast: Cast, ended: Run) -> None:
    whole = await exported(cast.alice, ended.pk)
    lines = whole.splitlines(keepends=True)
    seal = json.loads(lines[-1])["seal"]
    attempts = {
        b"": "not the archive",
        b"\xff\n\n\n": "not the archive",
        await exported(cast.alice, ended.pk, "ndjson"): "not the archive",
        whole[: len(whole) // 2]: "cut off",
        whole[:-1]: "cut off",
        b"".join(lines[:-1]): "cut off",
        lines[0]: "cut off",
        b"".join([*lines[:2], *lines[3:]]): "changed after",
        edited(whole, 0, status="failed"): "not the archive",  # json.dumps spaces it otherwise
        whole.replace(b'"status":"succeeded"', b'"status":"cancelled"', 1): "changed after",
        edited(whole, 1, threadId="other"): "changed after",
        whole + b"\n": "cut off",
        edited(whole, -1, seal=seal[:-1]): "another host",
        whole[:-4] + b'x"}\n': "another host",
        b"".join(lines[:-1]) + b'{"seal":null}\n': "another host",
        b"".join(lines[:-1]) + b'{"seal":\n': "another host",
    }
    before = await db(rows)
    for body, message in attempts.items():
        answer = await restore(cast.alice, body)
        assert (answer.status, answer.code) == (422, "bad_archive"), (body[-60:], answer.body)
        assert message in answer.json["error"]["message"], (body[-60:], answer.body)
    foreign = await restore(cast.charlie, whole)
    assert (foreign.status, foreign.code) == (422, "bad_archive")
    assert "another team" in foreign.json["error"]["message"]
    refused = await restore(cast.vera, whole)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert await db(rows) == before


def resealed(body: bytes, team: UUID, place: int, **fields: Any) -> bytes:
    """An archive whose event was changed by somebody who can seal: an agent sets timestamps."""
    lines = edited(body, place, **fields).splitlines(keepends=True)[:-1]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    return b"".join(lines) + form.seal(team, digest) + b"\n"


@pytest.mark.parametrize(
    ("stamp", "status"),
    [
        (-(2**53 - 1), 422),
        (2**53 - 1, 422),
        (-62_135_596_800_001, 422),
        (-62_135_596_800_000, 201),
        (253_402_300_799_998, 201),
        (253_402_300_800_000, 422),
    ],
)
async def test_an_event_of_an_impossible_time_is_refused(
    cast: Cast, ended: Run, stamp: int, status: int
) -> None:
    whole, before = await exported(cast.alice, ended.pk), await db(rows)
    body = resealed(whole, cast.team.pk, 2, timestamp=stamp)
    answer = await restore(cast.alice, body)
    assert answer.status == status, answer.body
    if status == 422:
        assert answer.code == "bad_archive"
        assert "timestamp of event 2" in answer.json["error"]["message"]
        assert await db(rows) == before
        return
    copy = answer.json["id"]
    for part in ("events", "outline", "export", "state"):
        read = await ask("GET", f"/api/v1/runs/{copy}/{part}", cast.alice.headers)
        assert read.status == 200, part


def rows() -> list[int]:
    tables = (Run, Journal, Thread, ImportedRun, AuditEntry)
    return [table._base_manager.count() for table in tables]


async def test_a_live_run_has_no_archive_and_a_private_one_stays_private(
    cast: Cast, writer: JournalWriter, ended: Run
) -> None:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t2"), writer)
    url = f"/api/v1/runs/{live.run.pk}/export?format=archive"
    answer = await ask("GET", url, cast.alice.headers)
    assert (answer.status, answer.code) == (409, "conflict")
    mine = {"visibility": Visibility.PRIVATE, "creator": cast.alice.principal.actor_id}
    thread = Thread.objects.already_found().filter(pk=ended.thread_id)
    await db(lambda: thread.update(**mine))
    body = await ask("GET", f"/api/v1/runs/{ended.pk}/export?format=archive", cast.alice.cookie)
    copy = await restore(cast.alice, body.body)
    strangers = await ask("GET", f"/api/v1/runs/{copy.json['id']}", cast.bob.headers)
    assert strangers.status == 404


async def test_its_page_says_where_it_came_from_and_repeats_nothing(cast: Cast, ended: Run) -> None:
    body = await exported(cast.alice, ended.pk)

    def look() -> tuple[str, str, int]:
        browser = Client()
        browser.force_login(cast.bob.user)
        upload = SimpleUploadedFile("run.archive.ndjson", body)
        page = browser.post("/runs/import", {"archive": upload}, follow=True)
        cut = browser.post("/runs/import", {"archive": SimpleUploadedFile("x", body[:-9])})
        assert "cut off" in cut.content.decode()
        return page.content.decode(), page.redirect_chain[-1][0], cut.status_code

    page, address, status = await db(look)
    assert "Imported by <bdi>bob</bdi>" in page
    assert "Run again" not in page
    assert address.startswith("/runs/")
    assert status == 422


async def test_an_agent_that_is_gone_is_there_as_a_disabled_one(cast: Cast, ended: Run) -> None:
    body = await exported(cast.alice, ended.pk)

    def rename() -> None:
        Agent.objects.for_team(cast.team).filter(slug="echo").update(slug="other")

    await db(rename)
    answer = await restore(cast.alice, body)
    assert (answer.status, answer.json["agent"]) == (201, "echo")

    def enabled() -> bool:
        return bool(Run.objects.of_any_team().get(pk=answer.json["id"]).agent.enabled)

    assert not await db(enabled)
