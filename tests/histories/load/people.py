"""Several people answer the same question at once; the first answer counts."""

import asyncio
from typing import Any

import httpx

from tests.histories.load.clients import BUSY, GONE, Clients


async def questions_of(clients: Clients, run: str) -> list[str]:
    """The questions with which a run has ended, if it has."""

    async def ask() -> httpx.Response:
        async with clients.http() as http:
            return await http.get("/api/v1/interrupts", params={"run": run})

    rows = (await clients.insist(ask)).json()["results"]
    return [str(row["id"]) for row in rows]


async def answer_all(clients: Clients, question: str) -> list[str]:
    """Each of the people answers; the runs that continue."""
    people = list(clients.keys)
    runs = await asyncio.gather(*(_answer(clients, question, person) for person in people))
    return sorted({run for run in runs if run})


async def _answer(clients: Clients, question: str, person: str) -> str | None:
    body: dict[str, Any] = {"status": "resolved", "payload": {"by": person}}
    while True:
        status, run = None, None
        try:
            async with clients.http(person) as http:
                answer = await http.post(f"/api/v1/interrupts/{question}/answer", json=body)
            status = answer.status_code
            if status == 200:
                run = str(answer.json()["run"]["id"])
        except (*GONE, ValueError):
            pass
        clients.recording.write(
            "answer", client=person, interrupt=question, value=person, status=status, run=run
        )
        if status is not None and status not in BUSY:
            if status not in (200, 409) and not (status == 404 and clients.may_lose):
                clients.refused.append(f"{person} answers {question}: {answer.text[:200]}")
            return run
        await clients.pause()
