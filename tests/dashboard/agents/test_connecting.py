"""Connecting an agent in the browser: what its test says, and what the form refuses."""

import re
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import team_agents
from agui_host.runtimes.models import Agent
from runs.access.agents import probe
from runs.models import Run
from tests.cast import Actor, Cast
from tests.dashboard.conftest import Browse
from tests.runtimes.kinds.peers import STREAM, Call, peer, text

pytestmark = pytest.mark.django_db(transaction=True)
FORM = {"kind": "http", "slug": "far", "headers": "Authorization: Bearer a secret"}


@pytest.fixture(autouse=True)
def _loopback(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr("agui_host.runtimes.kinds.http.PAUSES", (0.01, 0.01))
    cache.clear()


def echo(call: Call) -> list[dict[str, Any]]:
    """The events of an agent that conforms."""
    ids = {name: call.input[name] for name in ("threadId", "runId")}
    return [
        {"type": "RUN_STARTED", **ids},
        *text("Hello <i>you</i>"),
        {"type": "RUN_FINISHED", **ids},
    ]


async def conforming(call: Call) -> None:
    await call.raw(STREAM)
    await call.events(*echo(call))
    await call.chunk(b"")


async def sloppy(call: Call) -> None:
    await call.raw(STREAM)
    await call.events(*echo(call)[1:])
    await call.gone()


async def endless(call: Call) -> None:
    await call.raw(STREAM)
    while True:
        await call.events(*[{"type": "CUSTOM", "name": "x", "value": "x" * 1_000}] * 100)


async def silent(call: Call) -> None:
    await call.raw(STREAM)
    await call.gone()


async def wrong(call: Call) -> None:
    await call.answer(401, b"no")


async def probed(
    browse: Browse, person: Actor, address: str, **fields: str
) -> tuple[HttpResponse, str]:
    """Post the form with its button to test; the answer and its text."""
    client = await db(browse, person)
    values = {**FORM, "url": address, "test": "yes", **fields}
    answer = await db(client.post, "/agents/connect", values)
    return answer, unescape(answer.content.decode())  # type: ignore[attr-defined]


async def test_an_agent_that_conforms_is_tested_and_connected(cast: Cast, browse: Browse) -> None:
    async with peer(conforming) as server:
        answer, page = await probed(browse, cast.alice, server.url)
        assert answer.status_code == 200
        assert "It works" in page
        assert "conforms to AG-UI" in page
        assert "Hello <i>you</i>" in page
        assert b"Hello &lt;i&gt;you" in answer.content
        assert "Authorization: Bearer a secret" in server.calls[0].head.replace(
            "authorization", "Authorization"
        )
        assert not await db(Agent.objects.filter(team=cast.team, slug="far").exists)
        client = await db(browse, cast.alice)
        values = {**FORM, "url": server.url, "connect": "yes"}
        answer = await db(client.post, "/agents/connect", values)
        assert answer.headers["location"] == "/agents/far/"
        page = (await db(client.get, "/agents/far/")).content.decode()
        assert "/agui/agent/far/run" in page
        assert "a secret" not in page
        answer = await db(client.post, "/agents/far/test")
        assert "It works" in answer.content.decode()
        assert len(server.calls) == 2
        assert "a secret" in server.calls[1].head
    assert not await db(Run.objects.for_team(cast.team).exists)


@pytest.mark.parametrize(
    ("script", "finding"),
    [
        (sloppy, "V1 inserted_start"),
        (wrong, "answered with status 401"),
        (silent, "took longer than"),
        (endless, "sends too much for a test"),
    ],
)
async def test_findings_are_told_in_words(
    cast: Cast, browse: Browse, script: Any, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SECONDS", 1.0)
    async with peer(script) as server:
        answer, page = await probed(browse, cast.alice, server.url)
        assert answer.status_code == 200
        assert finding in page
        assert "a secret" in page, "the form keeps what was typed"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": "http://10.0.0.1/"}, "public"),
        ({"url": "http://localhost/"}, "this host itself"),
        ({"url": "file:///etc/passwd"}, "begin with http"),
        ({"url": ""}, "Write the address"),
        ({"url": "https://x.example/" + "x" * 500}, "at most 500"),
        ({"slug": "two words"}, "valid"),
        ({"slug": "x" * 65}, "at most 64"),
        ({"kind": "process"}, "process"),
        ({"kind": "python"}, "python"),
        ({"headers": "nothing"}, "each header in a line"),
    ],
)
@pytest.mark.parametrize("button", ["test", "connect"])
def test_what_a_form_refuses(
    cast: Cast, browse: Browse, fields: dict[str, str], problem: str, button: str
) -> None:
    values = {**FORM, "url": "https://x.example/", button: "yes", **fields}
    answer = browse(cast.alice).post("/agents/connect", values)
    assert answer.status_code == 422
    alerts = re.findall(r'role="alert"[^>]*>([^<]*)<', unescape(answer.content.decode()))
    assert any(problem in alert for alert in alerts), alerts
    assert not Agent.objects.filter(team=cast.team).exclude(slug="echo").exists()


def test_a_name_that_is_taken_and_an_agent_that_is_fed(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)
    values = {"kind": "external", "slug": "echo", "connect": "yes"}
    answer = client.post("/agents/connect", values)
    assert answer.status_code == 422
    assert "already" in answer.content.decode()
    answer = client.post("/agents/connect", values | {"slug": "connect"}, follow=True)
    assert "Producer-Seq" in answer.content.decode()
    assert team_agents.find(cast.alice.principal, "connect").is_fed
    assert "Where it runs" in client.get("/agents/connect").content.decode()
    # Nothing to test: its program calls the host.
    answer = client.post("/agents/connect", values | {"slug": "fed", "test": "yes"})
    assert answer.status_code in (200, 422)
    assert "It works" not in answer.content.decode()


@pytest.mark.parametrize("visitor", ["bob", "vera"])
def test_members_do_not_connect(cast: Cast, browse: Browse, visitor: str) -> None:
    client = browse(getattr(cast, visitor))
    assert client.get("/agents/connect").status_code == 403
    for button in ("test", "connect"):
        values = {**FORM, "url": "https://x.example/", button: "yes"}
        assert client.post("/agents/connect", values).status_code == 403


def test_a_team_has_one_test_at_a_time(cast: Cast, browse: Browse) -> None:
    cache.add(f"agent-test:{cast.team.pk}", 1, 20)
    values = {**FORM, "url": "https://x.example/", "test": "yes"}
    answer = browse(cast.alice).post("/agents/connect", values)
    assert answer.status_code == 422
    assert "Another test is running" in answer.content.decode()
    # Busy, and not refused for this: the places of the process were given back.
    for _ in range(probe.AT_ONCE):
        assert probe._places.acquire(blocking=False)
    try:
        cache.clear()
        answer = browse(cast.alice).post("/agents/connect", values)
        assert "Another test is running" in answer.content.decode()
    finally:
        for _ in range(probe.AT_ONCE):
            probe._places.release()
