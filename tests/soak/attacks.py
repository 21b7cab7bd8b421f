"""One team attacks the host in every way at once: ``python -m tests.soak.attacks URL KEY SECONDS``.

Each attack is one round of something; a few copies of it go round and round until the time is
over. With a fourth argument, ``each``, they come one after another, a few at once, each for two
rounds and for that time at most; with ``dear``, all that cost more than their bytes show, at once.
What the host answered is printed as JSON: {attack: {answer: count}}.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.neighbour import yield_to_the_host
from tests.soak import dear_agents, dear_attacks, dear_connections
from tests.soak.attacker import Attacker, Round, user
from tests.suite import certificates

MEGABYTE = "a" * 1_000_000
BOMB = r"^(a+)+$"
BAD = "a" * 60 + "!"
STUCK_EVERY = 75.0
ROUNDS, AT_ONCE = 2, 8
"""When attacks come one after another: rounds of each copy, and attacks at the same time.

An attack with a long callback has one in each round. Many wait for the host for most of their time.
"""
SEED = r"""
from django.core.exceptions import ValidationError
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
team = Team.objects.exclude(slug="b").get()
for number, pattern in enumerate([r"a*a*a*a*a*b", r"(a+)+$", r"[a-z]+![a-z]+!$"]):
    agent = Agent(team=team, slug=f"redacting-{number}", name="R", target="scripted")
    agent.middleware = [{"name": "redact", "patterns": [pattern]}]
    try:
        agent.save()
    except ValidationError:
        print("refused", pattern)
"""
"""Agents with patterns that take long, as far as the host lets a team have them."""


async def quadratic_texts(attacker: Attacker) -> Any:
    """Long lines to the agents that come with the host: tables, headers, words to look for."""
    status: Any = None
    for agent, text in (("table", MEGABYTE), ("table", "a," * 300_000), ("docs", MEGABYTE)):
        answer = await attacker.begin(agent, user(text))
        status = answer.status_code
        if status == 202:
            await attacker.ended(answer.json()["id"])
    return status


async def patterns_of_answers(attacker: Attacker) -> Any:
    """A schema of exponential time, and the answer that it never finishes with."""
    schema = {"type": "string", "pattern": BOMB}
    ask = {"interrupt": {"reason": "confirm", "response_schema": schema}}
    run = await attacker.play(ask)
    if run.status_code != 202:
        return run.status_code
    await attacker.ended(run.json()["id"])
    questions = await attacker.client.get(
        "/api/v1/interrupts", params={"run": run.json()["id"], "status": "open"}
    )
    status: Any = questions.status_code
    for question in questions.json().get("results", []):
        answer = await attacker.client.post(
            f"/api/v1/interrupts/{question['id']}/answer",
            json={"status": "resolved", "payload": BAD},
        )
        status = answer.status_code
    return status


async def patterns_of_middleware(attacker: Attacker) -> Any:
    """Text that the patterns of a middleware take long for."""
    answers = [await attacker.play({"text": BAD * 50}, agent=f"redacting-{n}") for n in range(3)]
    for answer in answers:
        if answer.status_code == 202:
            await attacker.ended(answer.json()["id"])
    return " ".join(str(answer.status_code) for answer in answers)


async def copying_patches(attacker: Attacker) -> Any:
    """One large value, and a patch that copies it 150 times."""
    copies = [{"op": "copy", "from": "/x", "path": f"/c{n}"} for n in range(150)]
    answer = await attacker.play(
        {"emit": {"type": "STATE_SNAPSHOT", "snapshot": {"x": MEGABYTE}}},
        {"emit": {"type": "STATE_DELTA", "delta": copies}},
    )
    if answer.status_code == 202:
        await attacker.ended(answer.json()["id"])
    return answer.status_code


async def starts_and_ends(attacker: Attacker) -> Any:
    """A short run, started and read to its end."""
    answer = await attacker.play({"text": "x"})
    if answer.status_code == 202:
        await attacker.ended(answer.json()["id"])
    return answer.status_code


async def floods(attacker: Attacker) -> Any:
    """A start that nobody waits for."""
    return (await attacker.play({"text": "x"})).status_code


async def half_sent(attacker: Attacker) -> Any:
    """A body that stops half-way."""
    return await _raw(
        attacker.url,
        b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf",
    )


async def endless(attacker: Attacker) -> Any:
    """A body in chunks that does not end by itself."""
    head = b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    return await _raw(attacker.url, head, b"10000\r\n" + b"x" * 65_536 + b"\r\n")


async def _raw(url: str, head: bytes, piece: bytes = b"") -> str:
    """The status line, once the host says something or hangs up; ``piece`` is sent until then."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    line = asyncio.ensure_future(reader.readline())
    try:
        writer.write(head)
        while piece and not line.done():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)  # or nobody else attacks
        return (await line).decode(errors="replace")[9:12] or "hung up"
    finally:
        line.cancel()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def descriptions(attacker: Attacker) -> Any:
    """The API's description, without credentials."""
    async with httpx.AsyncClient(base_url=attacker.url, timeout=30) as stranger:
        return (await stranger.get("/api/schema/")).status_code


async def link_seats(attacker: Attacker) -> Any:
    """Readers of a public link, as many as it takes."""
    run = await attacker.play({"sleep": 60})
    if run.status_code != 202:
        return run.status_code
    grant = await attacker.client.post("/api/v1/grants", json={"run": run.json()["id"]})
    if grant.status_code != 201:
        return grant.status_code
    token = urlsplit(grant.json()["url"]).path.split("/shared/")[1].strip("/")
    path = f"/shared/{token}/runs/{run.json()['id']}/events"
    await asyncio.gather(*(_seat(attacker, path) for _ in range(150)))
    return "all readers left"


async def _seat(attacker: Attacker, path: str) -> None:
    async with (
        httpx.AsyncClient(base_url=attacker.url, timeout=30) as stranger,
        stranger.stream("GET", path, headers={"Accept": "text/event-stream"}) as answer,
    ):
        attacker.count("link seats", answer.status_code)
        async for _ in answer.aiter_raw():
            pass


async def stuck(attacker: Attacker) -> Any:
    """An agent that never gives the interpreter back, now and then: it costs its worker."""
    await asyncio.sleep(min(STUCK_EVERY, attacker.seconds / 4))
    return (await attacker.begin("stuck", {})).status_code


DEAR: dict[str, tuple[Round, int]] = {
    **dear_attacks.ATTACKS,
    **dear_agents.ATTACKS,
    **dear_connections.ATTACKS,
}
ATTACKS: dict[str, tuple[Round, int]] = {
    "quadratic texts": (quadratic_texts, 2),
    "patterns of answers": (patterns_of_answers, 2),
    "patterns of middleware": (patterns_of_middleware, 2),
    "copying patches": (copying_patches, 2),
    "starts and ends": (starts_and_ends, 16),
    "floods": (floods, 40),
    "half-sent bodies": (half_sent, 60),
    "endless bodies": (endless, 4),
    "descriptions": (descriptions, 40),
    "link seats": (link_seats, 1),
    "the interpreter held": (stuck, 1),
    **DEAR,
}


async def attack(url: str, key: str, seconds: float, mode: str = "") -> dict[str, dict[str, int]]:
    """Everything at once for so many seconds, or a few at once, each for that time at most."""
    attacks = DEAR if mode == "dear" else ATTACKS
    attacker = Attacker(url, key, seconds)
    async with attacker.client, dear_agents.serving() as agents, dear_connections.owed(attacker):
        await dear_agents.register(attacker, agents)
        if mode == "each":
            free = asyncio.Semaphore(AT_ONCE)

            async def play(name: str, attack: Round, copies: int) -> None:
                async with free:
                    await attacker.play_rounds(name, attack, copies, ROUNDS)

            await asyncio.gather(*(play(name, *how) for name, how in attacks.items()))
        else:
            attacker.until = time.monotonic() + seconds
            await asyncio.gather(*(attacker.repeat(name, *how) for name, how in attacks.items()))
    return {name: dict(attacker.answers.get(name, {})) for name in attacks}


if __name__ == "__main__":
    yield_to_the_host()  # attackers bring machines of their own
    certificates.install()  # each visitor of a link is a client
    url, key, seconds, *mode = sys.argv[1:]
    print(json.dumps(asyncio.run(attack(url, key, float(seconds), *mode))))
