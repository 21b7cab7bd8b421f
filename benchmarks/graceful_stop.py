"""What a web server does to open streams at SIGTERM: how long it takes, and how streams end.

Each server runs the same bare application with endless event streams, sockets and one request
that still needs a second; then it gets SIGTERM. Figures and what follows: docs/adr/0001.

    python -m benchmarks.graceful_stop
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import websockets
from websockets.exceptions import ConnectionClosed

STREAMS, SOCKETS, MOST_SECONDS = 50, 50, 20.0
NOTES = "GRACEFUL_STOP_NOTES"
GRANIAN = [sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop", "--ws"]
UVICORN = [sys.executable, "-m", "uvicorn", "--ws", "websockets-sansio", "--log-level", "error"]
SERVERS: dict[str, tuple[str, list[str]]] = {
    "granian": ("granian", [*GRANIAN, "--log-level", "error"]),
    "granian --workers-kill-timeout 2": (
        "granian",
        [*GRANIAN, "--log-level", "error", "--workers-kill-timeout", "2"],
    ),
    "uvicorn": ("uvicorn", UVICORN),
    "uvicorn --timeout-graceful-shutdown 2": (
        "uvicorn",
        [*UVICORN, "--timeout-graceful-shutdown", "2"],
    ),
}


async def app(scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
    """/short answers after a second; every other stream and socket never ends by itself."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        note("lifespan.shutdown")
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return await endless(receive, lambda: send({"type": "websocket.send", "text": "{}"}))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/short":
        await asyncio.sleep(1)
        await send({"type": "http.response.body", "body": b"done"})
        return
    piece = {"type": "http.response.body", "body": b"data: {}\n\n", "more_body": True}
    await endless(receive, lambda: send(piece))


async def endless(receive: Callable[..., Any], tell: Callable[[], Awaitable[None]]) -> None:
    """Send until the server says that the peer has left; note what it said."""

    async def sending() -> None:
        while True:
            await tell()
            await asyncio.sleep(0.05)

    sender = asyncio.create_task(sending())
    try:
        while (message := await receive())["type"] == "http.request":
            pass
        note(message["type"])
    except asyncio.CancelledError:
        note("cancelled")
        raise
    finally:
        sender.cancel()


def note(what: str) -> None:
    """Written at once: the process may be killed next."""
    with open(os.environ[NOTES], "a") as file:
        file.write(f"{what}\n")


async def stream(port: int, path: str = "/") -> str:
    """Read a response to its end: ``ended`` if it came whole, else ``cut`` or ``reset``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    tail = b""
    try:
        while data := await reader.read(65536):
            tail = (tail + data)[-64:]
            if tail.endswith((b"0\r\n\r\n", b"done")):
                return "ended"
    except ConnectionError:
        return "reset"
    finally:
        writer.close()
    return "cut"


async def read_socket(port: int) -> str:
    """Read a WebSocket to its end; the close code that the client saw."""
    async with websockets.connect(f"ws://127.0.0.1:{port}/") as peer:
        try:
            while True:
                await peer.recv()
        except ConnectionClosed as closed:
            return f"closed {closed.rcvd.code}" if closed.rcvd else "cut"


async def measure(command: list[str]) -> dict[str, Any]:
    """Start a server, fill it with streams, stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    notes = Path(tempfile.mkdtemp()) / "notes"
    notes.touch()
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "graceful_stop:app"],
        cwd=Path(__file__).parent, env=os.environ | {NOTES: str(notes)}, start_new_session=True,
    )  # fmt: skip
    try:
        while True:
            try:
                await stream(port, "/short")
                break
            except OSError:
                await asyncio.sleep(0.1)
        readers = [asyncio.create_task(stream(port)) for _ in range(STREAMS)]
        peers = [asyncio.create_task(read_socket(port)) for _ in range(SOCKETS)]
        short = asyncio.create_task(stream(port, "/short"))
        await asyncio.sleep(0.5)
        began = time.perf_counter()
        server.send_signal(signal.SIGTERM)
        done, pending = await asyncio.wait(readers + peers, timeout=MOST_SECONDS)
        freed = time.perf_counter() - began
        left = max(0.1, MOST_SECONDS - freed)
        stopped = True
        try:
            await asyncio.to_thread(server.wait, left)
        except subprocess.TimeoutExpired:
            stopped = False
        taken = time.perf_counter() - began
        for task in pending:
            task.cancel()
        return {
            "process": f"ended after {taken:.2f} s, exit code {server.returncode}"
            if stopped
            else f"still there after {taken:.0f} s",
            "streams": dict(Counter(task.result() for task in readers if task in done)),
            "sockets": dict(Counter(task.result() for task in peers if task in done)),
            "last reader gone after": f"{freed:.2f} s" if not pending else "never",
            "request in flight": short.result() if short.done() else "unanswered",
            "application heard": dict(Counter(notes.read_text().split())),
        }
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        await asyncio.to_thread(server.wait)


def main() -> None:
    outages = {}
    for name, (package, command) in SERVERS.items():
        if importlib.util.find_spec(package):
            outages[name] = asyncio.run(measure(command))
            print(f"{name}\n{json.dumps(outages[name], indent=2)}", flush=True)
        else:
            print(f"{name}: not installed")


if __name__ == "__main__":
    main()
