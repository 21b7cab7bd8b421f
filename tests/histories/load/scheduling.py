"""Schedules: one of every minute and some of one tick, and the ticks that they owe."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.histories.recording import Recording

EVERY = timedelta(seconds=8)
MOST = 90
MARK = re.compile(r"the tick of (\S+) at (\S+)")
INPUT = {"messages": [
    {"id": "m", "role": "user", "content": "the tick of {{schedule_id}} at {{scheduled_at}}"}
]}  # fmt: skip
MINUTE = timedelta(minutes=1)


class Schedules:
    """Made before the host is hurt; ``finish`` once it has come to rest."""

    def __init__(self, client: httpx.Client, agent: str, seconds: float) -> None:
        self.client = client
        self.once: dict[str, datetime] = {}
        body = {"agent": agent, "input": INPUT, "missed": "all"}
        made = self._post({**body, "cron": "* * * * *"})
        self.every_minute = str(made["id"])
        self.first = datetime.fromisoformat(made["next_runs"][0])
        begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
        for number in range(min(MOST, int(seconds / EVERY.total_seconds()) + 1)):
            at = begin + EVERY * number
            self.once[str(self._post({**body, "run_at": at.isoformat()})["id"])] = at

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post("/api/v1/schedules", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def finish(self) -> None:
        """Wait for the last tick of each, and pause the one that does not end."""
        last = max(self.once.values())
        # A tick that is due in this moment is neither owed nor forbidden.
        while datetime.now(UTC) < last + timedelta(seconds=5) or not 5 < time.time() % 60 < 55:
            time.sleep(0.2)  # the time that is waited for
        url = f"/api/v1/schedules/{self.every_minute}"
        self.client.patch(url, json={"paused": True}).raise_for_status()
        self.until = datetime.now(UTC)

    def write(self, recording: Recording) -> None:
        """The ticks that are owed."""
        owed = list(self.once.items())
        tick = self.first
        while tick <= self.until:
            owed.append((self.every_minute, tick))
            tick += MINUTE
        for schedule, at in owed:
            recording.write("schedule", schedule=schedule, at=at.astimezone(UTC).isoformat())


def tick_in(event: dict[str, Any], run: str) -> dict[str, str] | None:
    """The tick that a run's first event names, as a line of a history."""
    for message in (event.get("input") or {}).get("messages") or ():
        if named := MARK.fullmatch(str(message.get("content"))):
            at = datetime.fromisoformat(named[2]).astimezone(UTC).isoformat()
            return {"schedule": named[1], "at": at, "run": run}
    return None
