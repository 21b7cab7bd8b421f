"""The last part of a history: what the host has stored, once it has come to rest."""

import json
import time
from typing import Any

import httpx

from tests.acceptance.host import Host, wait_for
from tests.histories.load.scheduling import tick_in
from tests.histories.recording import Recording

REST = 120.0


def wait(host: Host) -> None:
    """Until every run has ended."""
    with host.client() as client:
        wait_for(lambda: not _active(client), "every run to end", REST)


def rest(host: Host, recording: Recording) -> list[dict[str, Any]]:
    """Write down runs, logs and questions."""
    with host.client() as client:
        runs = list(pages(client, "/api/v1/runs", limit="100"))
        for run in runs:
            recording.write(
                "run", run=run["id"], thread=run["thread_id"], status=run["status"],
                head=run["events"], repeats=run["repeats"],
            )  # fmt: skip
            for event in host.events(run["id"]):
                if event["seq"] == 1 and (tick := tick_in(event["event"], run["id"])):
                    recording.write("tick", **tick)
                payload = json.dumps(event["event"])
                recording.write("log", run=run["id"], seq=event["seq"], payload=payload)
        for question in pages(client, "/api/v1/interrupts", limit="100"):
            answer = question["payload"] or {}
            recording.write(
                "question", interrupt=question["id"], run=question["run"],
                status=question["status"], value=answer.get("by"),
            )  # fmt: skip
    return runs


def _active(client: httpx.Client) -> bool:
    try:
        return any(
            client.get("/api/v1/runs", params={"status": status}).json()["results"]
            for status in ("queued", "running")
        )
    except (httpx.HTTPError, ValueError, KeyError):
        return True


def pages(client: httpx.Client, path: str, **params: str) -> Any:
    """All rows of a list. It is read when nothing hurts the host."""
    page: str | None = path
    until = time.monotonic() + REST
    while page:
        answer = client.get(page, params=params or None)
        if answer.status_code == 429 and time.monotonic() < until:
            time.sleep(1)
            continue
        answer.raise_for_status()
        body = answer.json()
        yield from body["results"]
        page, params = body["next"], {}
