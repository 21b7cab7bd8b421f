"""What is the same for everybody is made once; what may be personal is never kept."""

from collections.abc import MutableMapping
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from agui_host.web.middleware import answer_cache
from agui_host.web.middleware.answer_cache import AnswerCache
from agui_host.web.scope import Receive, Scope, Send
from tests.asgi import ask


class App:
    """Says how many requests have come to it."""

    def __init__(self, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
        self.status, self.headers, self.count = status, headers, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.count += 1
        start = {"type": "http.response.start", "status": self.status}
        await send({**start, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": b"%d, " % self.count, "more_body": True})
        await send({"type": "http.response.body", "body": b"whole"})


async def body(app: AnswerCache, query: bytes = b"", method: str = "GET", **headers: str) -> bytes:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "query_string": query, "headers": raw}
    request = ApplicationCommunicator(app, {**scope, "path": "/"})
    await request.send_input({"type": "http.request"})
    messages: list[MutableMapping[str, Any]] = []
    while not messages or "status" in messages[-1] or messages[-1].get("more_body"):
        messages.append(await request.receive_output())
    await request.wait()
    return b"".join(message.get("body", b"") for message in messages)


async def test_one_is_made_for_each_query_and_format() -> None:
    app = AnswerCache(App())
    assert [await body(app), await body(app)] == [b"1, whole"] * 2
    assert await body(app, b"format=json") == b"2, whole"
    assert await body(app, accept="application/json") == b"3, whole"
    assert await body(app, host="elsewhere") == b"4, whole"
    assert [await body(app), await body(app, b"format=json")] == [b"1, whole", b"2, whole"]


@pytest.mark.parametrize(
    "request_", [{"cookie": "a=b"}, {"authorization": "x"}, {"if_none_match": "x"}, {"range": "x"}]
)
async def test_a_personal_request_gets_an_answer_of_its_own(request_: dict[str, str]) -> None:
    app = AnswerCache(App())
    assert await body(app) == b"1, whole"
    assert await body(app, **request_) == b"2, whole"
    assert await body(app) == b"1, whole", "and it is not kept"


@pytest.mark.parametrize("app", [App(404), App(200, (b"Set-Cookie", b"a=b"))])
async def test_errors_and_cookies_are_not_kept(app: App) -> None:
    cache = AnswerCache(app)
    assert [await body(cache), await body(cache)] == [b"1, whole", b"2, whole"]
    assert await body(AnswerCache(App()), method="POST") == b"1, whole"


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST", 2)
    app = AnswerCache(App())
    for query in (b"a", b"b", b"a", b"c"):  # of the three, b is the oldest
        await body(app, query)
    assert [await body(app, query) for query in (b"a", b"c", b"b")] == [
        b"1, whole", b"3, whole", b"4, whole",
    ]  # fmt: skip


@pytest.mark.django_db(transaction=True)
async def test_the_description_comes_from_memory_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = await ask("GET", "/api/schema/?format=json", {})
    monkeypatch.setattr("agui_project.api_docs.Description.get", None)
    again = await ask("GET", "/api/schema/?format=json", {})
    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body
    assert first.headers["etag"] == again.headers["etag"]
