"""Uploads: as a body, as a form, in pieces; what is refused, and what it leaves behind."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as conf
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.web.asgi import application
from agui_host.web.consumers.files import places, upload
from runs.models import File
from tests.asgi import Answer, ask, http_scope
from tests.cast import Cast
from tests.runs.files.attaching import PNG, on_disk, posted, uploaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("bell")]
HTML = b"<!doctype html><script>alert(document.cookie)</script>"
FORM = {"content-type": "multipart/form-data; boundary=x"}


def form(content: bytes, name: str = "r.csv", kind: str = "text/csv") -> bytes:
    return (
        b'--x\r\ncontent-disposition: form-data; name="file"; filename="'
        + name.encode()
        + f'"\r\ncontent-type: {kind}\r\n\r\n'.encode()
        + content
        + b"\r\n--x--\r\n"
    )


def fixed(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name != "x-request-id"}


async def test_a_file_comes_back_as_it_went(cast: Cast) -> None:
    body = await uploaded(cast.alice.headers, PNG, "p.png", "image/png")
    a_form = await ask(
        "POST", "/api/v1/files", {**cast.alice.headers, **FORM}, body=form(b"a;b\r\n1;2\r\n")
    )
    assert a_form.status == 201, a_form.body
    for file, content, kind in (
        (body, PNG, "image/png"),
        (a_form.json, b"a;b\r\n1;2\r\n", "text/csv"),
    ):
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert (file["media_type"], file["size"]) == (kind, len(content))
        described = await ask("GET", f"/api/v1/files/{file['id']}", cast.alice.headers)
        assert described.json == file
        answer = await ask("GET", file["content_url"], cast.alice.headers)
        assert answer.body == content
        head = await ask("HEAD", file["content_url"], cast.alice.headers)
        assert (head.body, fixed(head)) == (b"", fixed(answer))
    listed = await ask("GET", "/api/v1/files", cast.alice.headers)
    assert [each["name"] for each in listed.json["results"]] == ["r.csv", "p.png"]


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("page.html", "text/html", HTML),
        ("p.svg", "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>'),
        ("a.js", "text/javascript", b"alert(1)"),
        ("unknown", "", HTML),
        ("t.txt", "text/plain", HTML),
    ],
)
async def test_nothing_runs_on_this_origin(
    cast: Cast, name: str, kind: str, content: bytes
) -> None:
    file = await uploaded(cast.alice.headers, content, name, kind)
    answer = await ask("GET", file["content_url"], cast.alice.headers)
    assert answer.body == content
    expected = "text/plain; charset=utf-8" if kind == "text/plain" else "application/octet-stream"
    assert answer.headers["content-type"] == expected
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("p.png", "image/png", HTML),
        ("p.png", "", HTML),
        ("song.mp3", "audio/mpeg", HTML),
        ("film.xyz", "video/x-new", HTML),
        ("r.pdf", "application/pdf", b"MZ\x90\x00" + bytes(100)),
        ("t.txt", "text/plain", PNG),
        ("x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", HTML),
        ("t.json", "application/json", b"\x00\x01"),
    ],
)
async def test_a_file_that_lies_about_its_type(
    cast: Cast, name: str, kind: str, content: bytes
) -> None:
    answer = await posted(cast.alice.headers, content, name, kind)
    assert (answer.status, answer.code) == (422, "file_type_wrong")
    assert on_disk(cast.team) == []


@pytest.mark.parametrize(
    ("name", "kind", "content", "recognised"),
    [
        ("x", "", PNG, "image/png"),
        ("x.bin", "application/octet-stream", b"\x01\x02", "application/octet-stream"),
        ("t.csv", "application/vnd.ms-excel", b"a;b", "text/csv"),
        ("t.csv", "text/csv; charset=utf-16", "a;b".encode("utf-16"), "text/csv"),
        ("t.md", "application/x-www-form-urlencoded", b"# Title", "text/markdown"),
        ("d.docx", "", b"PK\x03\x04" + bytes(30),
         "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ],
)  # fmt: skip
async def test_what_a_file_is(
    cast: Cast, name: str, kind: str, content: bytes, recognised: str
) -> None:
    assert (await uploaded(cast.alice.headers, content, name, kind))["media_type"] == recognised


async def test_names_are_names_and_not_paths(cast: Cast) -> None:
    for name, clean in (
        ("..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("C:%5Cdocs%5Ca%0Ab.txt", "ab.txt"),
        ("%E2%80%AEtxt.exe", "txt.exe"),
        ("%20", "file"),
        ("gr%C3%B6%C3%9Fe%22.txt", 'größe".txt'),
    ):
        file = await uploaded(cast.alice.headers, b"hello", name, "text/plain")
        assert file["name"] == clean
        answer = await ask("GET", file["content_url"], cast.alice.headers)
        assert "\n" not in answer.headers["content-disposition"]
    assert "filename*=utf-8''gr%C3%B6%C3%9Fe" in answer.headers["content-disposition"]


async def in_pieces(headers: dict[str, str], *pieces: bytes, ends: bool = True) -> Answer:
    """An upload whose body comes piece by piece, and perhaps never ends."""
    scope = http_scope("POST", "/api/v1/files?name=big.bin", headers)
    messages: list[Any] = [
        {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
    ]
    end = {"type": "http.request", "body": b"", "more_body": False}
    messages.append(end if ends else {"type": "http.disconnect"})
    answer: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        answer.append(message)

    await application(scope, receive, send)
    pairs = {name.decode(): value.decode() for name, value in answer[0]["headers"]}
    return Answer(answer[0]["status"], pairs, b"".join(m["body"] for m in answer[1:]))


async def test_more_than_a_body_may_have_but_not_more_than_a_file(
    cast: Cast, settings: Settings
) -> None:
    """The bound of other requests does not hold here; a file has one of its own, and it does."""
    settings.AGUI_MAX_BODY_BYTES = 1_000
    settings.AGUI_FILE_MAX_BYTES = 2_000_000
    headers = {**cast.alice.headers, "content-type": "application/octet-stream"}
    fits = await in_pieces(headers, *[b"\x01" * 100_000] * 20)
    assert (fits.status, fits.json["size"]) == (201, 2_000_000)
    before = on_disk(cast.team)
    over = await in_pieces(headers, *[b"\x01" * 100_000] * 20, b"!")
    assert (over.status, over.code) == (413, "too_large")
    assert over.headers["connection"] == "close"
    declared = await ask(
        "POST", "/api/v1/files", {**headers, "content-length": "2000001"}, body=b"\x01"
    )
    assert (declared.status, declared.code) == (413, "too_large")
    assert on_disk(cast.team) == before


async def test_an_upload_that_does_not_end(cast: Cast) -> None:
    headers = {**cast.alice.headers, "content-type": "application/octet-stream"}
    cut = await in_pieces(headers, b"\x01" * 1_000_000, ends=False)
    assert (cut.status, cut.code) == (400, "bad_request")
    assert on_disk(cast.team) == []
    listed = await ask("GET", "/api/v1/files", cast.alice.headers)
    assert listed.json["results"] == []


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (b"", FORM["content-type"]),
        (b"garbage", FORM["content-type"]),
        (form(b"x")[:-8], FORM["content-type"]),
        (b'--x\r\ncontent-disposition: form-data; name="file"\r\n\r\nv\r\n--x--\r\n',
         FORM["content-type"]),
        (form(b"x")[:-6] + b"\r\n" + form(b"y"), FORM["content-type"]),
        (form(b"x"), "multipart/form-data"),
        (b"--x\r\n" + b"a" * 100_000, FORM["content-type"]),
    ],
)  # fmt: skip
async def test_what_is_no_form(cast: Cast, body: bytes, header: str) -> None:
    headers = {**cast.alice.headers, "content-type": header}
    answer = await ask("POST", "/api/v1/files", headers, body=body)
    assert (answer.status, answer.code) == (400, "bad_request"), answer.body
    assert on_disk(cast.team) == []


async def test_a_form_without_a_file_reserves_nothing(cast: Cast) -> None:
    """Such a request costs one look at its key, however many of them a client sends."""
    body = b'--x\r\ncontent-disposition: form-data; name="file"\r\n\r\n\r\n' * 1_000
    answer = await ask("POST", "/api/v1/files", {**cast.alice.headers, **FORM}, body=body)
    assert answer.status == 400, answer.body
    assert not await db(File.objects.for_team(cast.team).exists)


async def test_a_form_with_another_field_stores_nothing(cast: Cast) -> None:
    field = b'--x\r\ncontent-disposition: form-data; name="expires"\r\n\r\n1\r\n'
    for body in (field + form(b"x"), form(b"x")[: -len(b"--x--\r\n")] + field + b"--x--\r\n"):
        answer = await ask("POST", "/api/v1/files", {**cast.alice.headers, **FORM}, body=body)
        assert (answer.status, answer.code) == (422, "unknown_member"), answer.body
        assert on_disk(cast.team) == []
        assert not await db(File.objects.for_team(cast.team).filter(sha256__gt="").exists)


async def test_limits(cast: Cast, settings: Settings) -> None:
    settings.AGUI_FILE_TYPES = ["text/*"]
    refused = await posted(cast.alice.headers, PNG, "p.png", "image/png")
    assert (refused.status, refused.code) == (422, "file_type_refused")
    empty = await posted(cast.alice.headers, b"", "a.txt", "text/plain")
    assert (empty.status, empty.code) == (422, "invalid")
    odd = await posted(cast.alice.headers, b"x", "a.txt", "nonsense")
    assert (odd.status, odd.code) == (415, "unsupported_media_type")
    settings.AGUI_FILES_MAX_BYTES = 10
    await db(File.objects.all().delete)
    await uploaded(cast.alice.headers, b"12345678")
    full = await posted(cast.alice.headers, b"123", "a.txt", "text/plain")
    assert (full.status, full.code) == (409, "files_full")
    settings.AGUI_FILES_MAX, settings.AGUI_FILES_MAX_BYTES = 1, 0
    full = await posted(cast.alice.headers, b"1", "a.txt", "text/plain")
    assert (full.status, full.code) == (409, "files_full")
    await uploaded(cast.charlie.headers, b"1")


async def test_a_body_slower_than_the_pace_is_refused(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that stops holds its place no longer than the pace allows."""
    monkeypatch.setattr(upload, "PACE_SECONDS", 0.05)
    messages: list[Any] = []
    pieces = [{"type": "http.request", "body": b"hello", "more_body": True}]

    async def receive() -> Any:
        return pieces.pop() if pieces else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        messages.append(message)

    scope = http_scope("POST", "/api/v1/files?name=a.txt", cast.alice.headers)
    await asyncio.wait_for(application(scope, receive, send), 30)
    assert messages[0]["status"] == 408
    assert b"too slowly" in messages[1]["body"]
    assert not places.places().taken_by(str(cast.team.pk))
    assert on_disk(cast.team) == []


async def test_a_page_of_another_site_uploads_nothing(cast: Cast) -> None:
    for origin, status in (("http://localhost", 201), ("https://evil.example", 403)):
        headers = {**cast.alice.cookie, "origin": origin, **FORM}
        answer = await ask("POST", "/api/v1/files", headers, body=form(b"a;b"))
        assert answer.status == status


async def test_content_that_is_missing(cast: Cast) -> None:
    file = await uploaded(cast.alice.headers)
    (Path(conf.AGUI_FILES) / str(cast.team.pk) / file["id"]).unlink()
    answer = await ask("GET", file["content_url"], cast.alice.headers)
    assert (answer.status, answer.code) == (404, "not_found")
