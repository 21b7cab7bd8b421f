"""Somebody else's AG-UI server, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import httpx

from tests.acceptance.host import ROOT, free_port, wait_for


class Neighbour:
    """``app`` served on a port of its own; ``said`` reads what it logs."""

    def __init__(
        self,
        app: str,
        folder: Path,
        *,
        python: Path | str = sys.executable,
        cwd: Path = ROOT,
        **env: str,
    ) -> None:
        self.port, self.log = free_port(), folder / "peer.log"
        command = [
            python, "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1",
            "--port", str(self.port), app,
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=cwd, env={**os.environ, **env}, stdout=log, stderr=log
            )
        try:
            wait_for(self.is_up, "the peer", seconds=240)
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            # FastAPI describes every app; no run begins.
            return httpx.get(f"http://127.0.0.1:{self.port}/docs", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def logged(self, words: str) -> bool:
        return words in self.log.read_text()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:  # it has not come so far as to listen to signals
            self.process.kill()
            self.process.wait(20)
