"""The worker of a run is killed while an agent on another host works for it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_host.protocol.fold.fold import Fold
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.far_words import TEXT, WORDS
from tests.acceptance.recovery.rounds import SETTINGS, Socket, Stream
from tests.conftest import own_data_dir

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[Host, Host]]:
    """A host, and a remote one, one of whose agents the first host runs."""
    modules = {"AGUI_AGENT_MODULES": "tests.acceptance.recovery.far_words"}
    with own_data_dir() as data, own_data_dir() as far_data:
        far = Host(far_data, **modules)
        host = Host(data, **SETTINGS, AGUI_OUTBOUND_ALLOW="127.0.0.1")
        try:
            far.start()
            host.start()
            agent = {
                "slug": "far-words", "url": f"{far.url}/agui/agent/far-words/run", "headers": far.headers,
                "recovery": "continue",
            }  # fmt: skip
            with host.client() as client:
                assert client.post("/api/v1/agents", json=agent).status_code == 201
            yield host, far
        finally:
            for each in (host, far):
                each.worker.kill()
                each.stop()


def words(log: list[dict[str, Any]]) -> int:
    return sum("delta" in event and event["type"].startswith("TEXT") for event in log)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed(hosts: tuple[Host, Host], tmp_path: Path, seed: int) -> None:
    """The remote run goes on, is joined again, and readers have each word once."""
    host, _ = hosts
    began = tmp_path / "began"
    point = random.Random(seed).randrange(WORDS // 2)
    run = host.begin("far-words", forwardedProps={"began": str(began)})["id"]
    readers = [Stream(host, run), Socket(host, run)]
    wait_for(lambda: words(readers[0].events) > point, f"word {point}", 20)
    assert host.worker.process
    host.worker.process.kill()
    host.worker.stop()
    host.spawn(host.worker)
    assert host.wait_status(run, "succeeded", "failed")["status"] == "succeeded"
    log = [frame["event"] for frame in host.events(run)]
    for reader in readers:
        reader.join(30)
        assert reader.events == log
    assert [e["value"]["attempt"] for e in log if e.get("name") == "agui_host.recovered"] == [2]
    assert len(began.read_text().splitlines()) == 1, "the remote agent was started once"
    fold = Fold()
    for event in log:
        fold.feed(event)
    assert "".join(m["content"] for m in fold.messages if m["role"] == "assistant") == TEXT
    assert fold.state == {"words": WORDS}
