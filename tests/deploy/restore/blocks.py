"""The blocks of a page of the manual, and what they are run with."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agui_host.embedded import embedded, paths
from tests.acceptance.host import ROOT, Host, wait_for

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The blocks in that language of a page of ``docs/``."""
    text = (ROOT / "docs" / page).read_text()
    return [block for fence, block in BLOCK.findall(text) if fence == language]


def url(data: Path, user: str, database: str) -> str:
    """The address of a database of ``data``'s engine."""
    sockets = str(paths.socket_dir(data)).replace("/", "%2F")
    return f"postgres://{user}@{sockets}:5432/{database}"


def agui_host(folder: Path) -> Path:
    """The command of an installed package."""
    folder.mkdir()
    program = folder / "agui-host"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "manage.py"} "$@"\n')
    program.chmod(0o755)
    return program


def programs(folder: Path) -> str:
    """A PATH with ``agui-host`` and PostgreSQL's programs."""
    return f"{agui_host(folder).parent}:{paths.postgres_binaries(None)}:{os.environ['PATH']}"


def run(block: str, folder: Path, env: Mapping[str, str]) -> str:
    """What a block prints that a shell runs without an error."""
    done = subprocess.run(
        ["sh", "-e"], input=block, cwd=folder, env=env, capture_output=True, text=True,
        timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
    assert "Row-level security is off" not in done.stderr
    return done.stdout


@contextmanager
def read_from(data: Path) -> Iterator[Host]:
    """A host of the engine in ``data``, without a worker: for a while nothing is done there."""
    host = Host(data, REDIS_URL="")
    host.engines = embedded.start(data, valkey=False, postgres_options=["fsync=off"])
    try:
        host.spawn(host.web)
        wait_for(lambda: host.ready() != {}, "the web process to answer")
        yield host
    finally:
        host.stop()
