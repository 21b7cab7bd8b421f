"""Each rule about the head of an answer holds for every answer, whoever gives it."""

import pytest
from pytest_django import Settings

from agui_host.backends import metrics
from tests.asgi import ask

ORIGIN = "http://localhost"
OTHER = "https://evil.example"
PREFLIGHT = {"access-control-request-method": "POST"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/health", {}, 200),
        ("GET", "/health", {"cookie": ";" * 10_000}, 431),
        ("GET", "/health?a=%00", {}, 400),
        ("OPTIONS", "/health", {"origin": OTHER, **PREFLIGHT}, 403),
    ],
    ids=("app", "headers", "nul", "preflight"),
)
async def test_every_answer_gets_every_header(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    counter = metrics.http_requests.labels("/health", str(status))
    before = counter._value.get()
    answer = await ask(method, path, {"x-request-id": "mine", **headers})
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-store"
    assert {"authorization", "cookie"} <= set(answer.headers["vary"].lower().split(", "))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (answer.headers["x-request-id"] == "mine") == (status != 431), "its headers are unread"
    assert counter._value.get() == before + 1


async def test_a_granted_preflight_names_its_own_time(settings: Settings) -> None:
    settings.AGUI_ALLOWED_ORIGINS = [ORIGIN]
    answer = await ask("OPTIONS", "/agui", {"origin": ORIGIN, **PREFLIGHT})
    assert (answer.status, answer.headers["vary"]) == (204, "Origin")
    assert "cache-control" not in answer.headers
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["x-request-id"]
