"""Requests that start runs, and the check of a refusal: the tests of the HTTP side share them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from events.models import Event, Journal
from runs.models import Run, Thread
from tests.asgi import Answer, ask_now

RUNS = "/api/v1/runs"
STREAMED = ["/agui", "/", "/api/agui/", "/agui/agent/echo/run"]
STARTS = [*STREAMED, RUNS, f"{RUNS}?wait=1"]
JSON = {"content-type": "application/json"}
OWN = {"origin": "http://localhost"}


@contextmanager
def nothing_written() -> Iterator[None]:
    """No row of a run is there afterwards that was not there before."""

    def rows() -> list[int]:
        return [model.objects.count() for model in (Thread, Run, Journal, Event)]

    before = rows()
    yield
    assert rows() == before


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """Check a refusal; its details."""
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.headers["x-request-id"]
    assert "Traceback" not in answer.body.decode()
    details: dict[str, Any] = answer.json["error"]["details"]
    return details


def post(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Post a RunAgentInput, in the wrapping that the API wants around it."""
    if path.startswith(RUNS):
        body = b'{"input": %b}' % body
    return ask_now("POST", path, {**JSON, **headers}, body=body)
