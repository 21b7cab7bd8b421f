"""What a run's citations are checked against."""

import base64
from typing import Any

import pytest

from agui_host.runtimes.context.request import RunRequest
from agui_host.runtimes.middleware.citing import sources
from agui_host.runtimes.middleware.citing.sources import Source, sources_of


def run(context: list[Any], *parts: Any) -> RunRequest:
    message = {"id": "m", "role": "user", "content": list(parts)}
    body = {"threadId": "t", "runId": "r", "context": context, "messages": [message]}
    return RunRequest(body)


def document(text: str, mime: str | None = "text/plain", name: str = "") -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    source = {"type": "data", "value": data, **({"mimeType": mime} if mime else {})}
    return {"type": "document", "source": source, "metadata": {"filename": name}}


def test_context_comes_before_documents() -> None:
    context = [{"description": "rules", "value": "be kind"}, {"value": 3}, {"value": "bare"}]
    parts = [{"type": "text", "text": "see"}, document("one", name="a.txt"), document("two", None)]
    assert sources_of(run(context, *parts)) == [
        Source("rules", "be kind"), Source("", "bare"), Source("a.txt", "one"), Source("", "two"),
    ]  # fmt: skip


def test_a_picture_is_no_source() -> None:
    assert sources_of(run([], document("x", "image/png"))) == []


def test_all_texts_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST", 5)
    texts = [
        source.text
        for source in sources_of(run([{"value": "abcd"}], document("efgh"), document("i")))
    ]
    assert texts == ["abcd", "e", ""]
