"""Runs of agents of each kind whose worker is hurt at a seeded event, and what must be true."""

import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agui_host.protocol.fold.fold import Fold
from tests.acceptance.host import ROOT, Host, wait_for
from tests.acceptance.recovery.kinds import far_words
from tests.acceptance.recovery.rounds import SETTINGS, Socket, Stream
from tests.conftest import own_data_dir

EVENTS = {"langgraph": 14, "pydantic-ai": 20, "http": 35, "claude": 12, "codex": 14}
"""The kinds, and how many events of a run a worker can be killed after."""
MODULES = (
    "tests.acceptance.recovery.kinds.two_nodes",
    "tests.acceptance.recovery.kinds.slow_weather",
)
AGENTS = {"langgraph": "two-nodes", "pydantic-ai": "slow-weather", "http": "far-words"}
RECORDED = ROOT / "tests" / "runtimes" / "recorded"
TOOL = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
Agent.objects.create(team=Team.objects.get(slug="demo"), slug={slug!r}, name={slug!r},
                     kind="process", recovery="continue", settings={settings!r})
"""


@contextmanager
def two_hosts() -> Iterator[Host]:
    """A host with agents of all kinds; one of them is on another host."""
    with own_data_dir() as data, own_data_dir() as far_data:
        far = Host(far_data, AGUI_AGENT_MODULES="tests.acceptance.recovery.kinds.far_words")
        modules = {"AGUI_AGENT_MODULES": ",".join(MODULES), "AGUI_OUTBOUND_ALLOW": "127.0.0.1"}
        host = Host(data, **SETTINGS | modules)
        try:
            far.start()
            host.start()
            for slug in ("claude", "codex"):
                recording = RECORDED / f"{slug}{'_partial' * (slug == 'claude')}.jsonl"
                argv = [
                    sys.executable,
                    str(Path(__file__).with_name("slow_tool.py")),
                    str(recording),
                ]
                settings = {
                    "argv": argv, "resume_argv": [*argv, "{session_id}"], "directory": "thread",
                    "unconfined": True,
                }  # fmt: skip
                host.python(TOOL.format(slug=slug, settings=settings))
            for slug in ("far-words", "far-listener"):
                remote = {
                    "slug": slug, "url": f"{far.url}/agui/agent/{slug}/run",
                    "headers": far.headers, "recovery": "continue",
                }  # fmt: skip
                with host.client() as client:
                    assert client.post("/api/v1/agents", json=remote).status_code == 201
            yield host
        finally:
            for each in (host, far):
                each.worker.kill()
                each.stop()


FAULTS = {
    **dict.fromkeys(("langgraph", "pydantic-ai", "http"), ("kill", "term", "stop")),
    # The command of a frozen worker plays its recording to the end, so nothing is left to resume.
    **dict.fromkeys(("claude", "codex"), ("kill", "term")),
}


class Played:
    """A run of the kind with two readers; ``point`` is the event at which its seed hurts it."""

    def __init__(self, host: Host, kind: str, seed: int, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        dice = random.Random(f"{kind} {seed}")
        self.host, self.kind, self.folder = host, kind, folder
        self.point = dice.randint(2, EVENTS[kind])
        words = [{"id": f"u-{seed}", "role": "user", "content": "Begin"}]
        props = {"folder": str(folder), "pause": dice.uniform(0.07, 0.14)}
        run = host.begin(AGENTS.get(kind, kind), messages=words, forwardedProps=props)
        self.id: str = run["id"]
        self.readers = [Stream(host, self.id), Socket(host, self.id)]

    def wait_for_the_point(self) -> None:
        events = self.readers[0].events
        wait_for(lambda: len(events) >= self.point, f"event {self.point} of {self.kind}", 30)

    def ended(self, fault: str) -> list[dict[str, Any]]:
        """The log after the end: of one run, and each reader has it without a gap."""
        done = self.host.wait_status(self.id, "succeeded", "failed", "cancelled", "interrupted")
        log = [frame["event"] for frame in self.host.events(self.id)]
        assert done["status"] == "succeeded", (self.kind, self.point, log[-1])
        assert done["run_id"] == log[0]["runId"] == log[-1]["runId"]
        types = Counter(event["type"] for event in log)
        assert types["RUN_STARTED"] == types["RUN_FINISHED"] == 1
        for reader in self.readers:
            reader.join(30)
            assert reader.seqs == list(range(1, len(log) + 1)), "gap-free, nothing twice"
            assert reader.events == log
        _check_text(self.kind, log, self.folder)
        values = [e["value"] for e in log if e.get("name") == "agui_host.recovered"]
        assert [value["attempt"] for value in values] in ([], [2])
        reason = "shutdown" if fault == "term" else "worker_lost"
        assert {value["reason"] for value in values} <= {reason}
        return log


def check(
    host: Host, kind: str, seed: int, folder: Path, fault: str = "kill", runs: int = 1
) -> int:
    """Play so many runs of the kind, hurt their worker; how many of them another one continued.

    The seed's own run is hurt at its point, the others wherever they are.
    """
    played = [Played(host, kind, seed + n, folder / str(n)) for n in range(runs)]
    played[0].wait_for_the_point()
    with hurt_worker(host, fault):
        logs = [each.ended(fault) for each in played]
    for each, log in zip(played, logs, strict=True):
        assert [frame["event"] for frame in host.events(each.id)] == log
    return sum(any(e.get("name") == "agui_host.recovered" for e in log) for log in logs)


@contextmanager
def hurt_worker(host: Host, fault: str) -> Iterator[None]:
    """Kill, replace or freeze the only worker; another one is there. A frozen one wakes up."""
    victim = host.worker.process
    assert victim
    names = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}
    victim.send_signal(names[fault])
    if fault != "stop":
        victim.wait(20)
        host.worker.stop()
    host.spawn(host.worker)
    try:
        yield
    finally:
        if fault == "stop":
            victim.send_signal(signal.SIGCONT)
            wait_for(lambda: victim.poll() is not None, "the pruned worker to leave", 60)


def _check_text(kind: str, log: list[dict[str, Any]], folder: Path) -> None:
    """Readers have each text once, and finished tools were not called again."""
    fold = Fold()
    for event in log:
        fold.feed(event)
    spoken = [m["content"] for m in fold.messages if m["role"] == "assistant" and m.get("content")]
    whole = json.dumps(log)
    match kind:
        case "langgraph":
            from tests.acceptance.recovery.kinds.two_nodes import ANSWER, FACTS

            assert spoken == [FACTS, ANSWER], whole
            tools = (folder / "tools").read_text().split()
            assert set(tools) == {"first", "second"}
            assert len(tools) <= 3, "at most the node that was cut is run again"
        case "pydantic-ai":
            from tests.acceptance.recovery.kinds.slow_weather import ANSWER as COLD
            from tests.acceptance.recovery.kinds.slow_weather import CITIES

            assert spoken == [COLD], whole
            counts = Counter((folder / "tools").read_text().split())
            assert set(counts) == set(CITIES)
            assert sum(counts.values()) <= len(CITIES) + 1, "at most one unverified effect"
        case "http":
            assert "".join(spoken) == far_words.TEXT
            assert (folder / "tools").read_text().split() == ["begun"]
            assert fold.state == {"words": far_words.WORDS}
        case _:
            assert max(Counter(spoken).values()) == 1, whole
