"""An asynchronous standby is promoted: readers of what it lacks are told, all others continue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.engines.replicated import AS_APPLICATION, ReplicatedHost
from tests.acceptance.host import Host, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

EXTERNAL = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
team = Team.objects.earliest("created_at")
Agent.objects.create(team=team, slug="fed", name="Fed", kind="external")
"""
STREAM = {"accept": "text/event-stream"}


@pytest.fixture
def replicated(data_dir: Path) -> Iterator[ReplicatedHost]:
    host = ReplicatedHost(data_dir, **AS_APPLICATION)
    try:
        host.start()
        yield host
    finally:
        host.stop()


def feed(host: Host, run: str, seq: int, *words: str) -> int:
    """A producer's batch: an event for each word; the answer's status."""
    answer = httpx.post(
        f"{host.url}/api/v1/runs/{run}/stream",
        json=[{"type": "CUSTOM", "name": "said", "value": word} for word in words],
        headers={
            **host.headers, "producer-id": "p", "producer-epoch": "0", "producer-seq": str(seq),
        },
        timeout=30,
    )  # fmt: skip
    return answer.status_code


def page(host: Host, run: str, after: int | str) -> tuple[int, dict[str, Any]]:
    with host.client() as client:
        answer = client.get(f"/api/v1/runs/{run}/events", params={"after": after})
        return answer.status_code, answer.json()


def test_readers_of_a_lost_history_are_reset(replicated: ReplicatedHost) -> None:
    host, pair = replicated, replicated.pair
    host.python(EXTERNAL)
    run = host.begin("fed")["id"]
    assert feed(host, run, 0, "a", "b") == 200
    low = page(host, run, 0)[1]["head"]
    first = host.ready()["epoch"]
    pair.cut_off()
    assert feed(host, run, 1, "lost", "lost", "lost") == 200
    high = page(host, run, 0)[1]["after"]
    assert high == low + 3

    url, headers = f"{host.url}/api/v1/runs/{run}/events", {**host.headers, **STREAM}
    with (
        httpx.stream("GET", f"{url}?after={high}", headers=headers, timeout=120) as ahead,
        httpx.stream("GET", f"{url}?after={low}", headers=headers, timeout=120) as behind,
    ):
        texts = {stream: stream.iter_text() for stream in (ahead, behind)}
        # Or it may never see what is lost, and rightly continue.
        beginning = ""
        while f"id: {high}\n" not in beginning:
            beginning += next(texts[behind])
        pair.fail_over()
        wait_for(lambda: feed(host, run, 1, "x", "y", "z", "u", "v") == 200, "the next batch", 60)
        epoch = host.ready()["epoch"]
        assert epoch > first
        head = page(host, run, 0)[1]["head"]
        assert head == f"{epoch}-{low + 5}", "the log has grown past what was lost"
        for rest in texts.values():
            body = "".join(rest)
            assert f'event: reset\ndata: {{"reset":true,"epoch":{epoch},' in body
            assert '"value":"x"' not in body, "two histories as one"
    for cursor in (high, f"{first}-{high}"):
        status, body = page(host, run, cursor)
        assert (status, body["error"]["code"]) == (410, "reset")
        assert body["error"]["details"] == {"epoch": epoch, "head": low + 5}
    status, body = page(host, run, low)
    assert [row["event"]["value"] for row in body["events"]] == ["x", "y", "z", "u", "v"]
    assert page(host, run, f"{epoch}-{low + 2}")[0] == 200
