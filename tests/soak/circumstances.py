"""What a host is in the middle of when something breaks: four things, and how each ended."""

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx

from tests.acceptance.host import Host, wait_for
from tests.soak.watching import Outcome, read

LIVE_SECONDS, RATE = 25, 20
DUE = 12.0
"""Seconds until the question expires and the purge is due: after the fault, while it lasts."""
SEED = """
from agui_host.runtimes.models import Agent
Agent.objects.unscoped("a test").filter(slug="scripted").update(on_busy="enqueue")
"""
OLD_RUN = """
import datetime, time
from django.utils import timezone
from agui_host.protocol.input import run_agent_input
from runs.lifecycle import lifecycle
from runs.worker import tasks
from agui_host.runtimes.models import Agent
from runs.models import Run
from tests.runs.past import JANUARY, made_in
agent = Agent.objects.unscoped("a test").select_related("team").get(slug="scripted")
request = run_agent_input.parse({{"threadId": "old", "forwardedProps": {{"script": []}}}})
rows = Run.objects.unscoped("a test")
with made_in(JANUARY):
    run = lifecycle.start(agent.team, agent, request, started_by="user:a").run
while not rows.filter(pk=run.pk, ended_at__isnull=False).exists():
    time.sleep(0.1)
then = datetime.datetime(2024, 1, 20, tzinfo=datetime.UTC)
rows.filter(pk=run.pk).update(created_at=then, started_at=then, ended_at=then)
when = timezone.now() + datetime.timedelta(seconds={due})
tasks.purge_what_is_over.configure(schedule_at=when).defer(timestamp=0)
print(run.pk)
"""


@dataclass(frozen=True)
class Ends:
    """How the four things ended. Times are seconds; None if it never came to that."""

    live: str
    silent: float
    queued: str
    queued_after: float | None
    expired_after: float | None
    purged_after: float | None


class Circumstances:
    """A live run and its reader, a run queued behind it, an open question, a scheduled purge."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.purged = host.python(OLD_RUN.format(due=DUE + 8)).split()[-1]
        due = datetime.now(UTC) + timedelta(seconds=DUE)
        question = {"reason": "confirm", "expires_at": due.isoformat()}
        self.question = host.begin(script=[{"interrupt": question}], threadId="question")["id"]
        host.wait_status(self.question, "interrupted")
        self.due = due.timestamp()
        text = {"text": "tick", "n": LIVE_SECONDS * RATE, "rate": RATE}
        self.live = Outcome(host.begin(script=[text], threadId="live")["id"], time.time())
        self.queued = host.begin(script=[{"text": "x", "n": 2}], threadId="live")["id"]
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        wait_for(lambda: len(self.live.seqs) > RATE, "the live run to speak")

    def _read(self) -> None:
        with self.host.client() as client:
            read(client, self.live, seconds=240)

    def ends(self, fault_at: float, seconds: float = 1100.0) -> Ends:
        """Wait until everything has ended, but not for ever."""
        until = time.time() + seconds
        expired = purged = None
        while time.time() < until and (expired is None or purged is None or self._queued_waits()):
            if expired is None and self._expired():
                expired = time.time() - self.due
            if purged is None and self._purged():
                purged = time.time() - self.due
            time.sleep(0.25)
        self.reader.join(max(1.0, until - time.time()))
        queued = self._run(self.queued)
        after = [moment for moment, _ in self.live.delays if moment > fault_at]
        moments = [fault_at, *after, self.live.ended or time.time()]
        began, live_ended = queued.get("started_at"), self._run(self.live.id).get("ended_at")
        return Ends(
            live=" ".join(filter(None, (self.live.status, self.live.code))) or "never ended",
            silent=max(later - earlier for earlier, later in pairwise(moments)),
            queued=queued.get("status", "unknown"),
            queued_after=stamp(began) - stamp(live_ended) if began and live_ended else None,
            expired_after=expired,
            purged_after=purged,
        )

    def whole(self) -> bool:
        """Whether the reader got every event once and in order, to the end."""
        return self.live.whole and len(self.live.seqs) == self._run(self.live.id)["events"]

    def _queued_waits(self) -> bool:
        return self._run(self.queued).get("ended_at") is None

    def _expired(self) -> bool:
        page = self._get("/api/v1/interrupts", run=self.question, status="expired")
        return bool(page and page.json().get("results"))

    def _purged(self) -> bool:
        answer = self._get(f"/api/v1/runs/{self.purged}/events", after="0")
        return answer is not None and answer.status_code == 410

    def _run(self, run_id: str) -> dict[str, Any]:
        answer = self._get(f"/api/v1/runs/{run_id}")
        return dict(answer.json()) if answer is not None and answer.status_code == 200 else {}

    def _get(self, path: str, **params: str) -> httpx.Response | None:
        """None while nobody answers."""
        try:
            return httpx.get(
                self.host.url + path, params=params, headers=self.host.headers, timeout=15
            )
        except httpx.HTTPError:
            return None


def stamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
