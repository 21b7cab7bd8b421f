"""What runs beside the host of all products, which may reach agents on this machine."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.acceptance.neighbour import Neighbour
from tests.clients.environments import programs
from tests.conformance.judges import NEWEST
from tests.conformance.judges import PEERS as LOCKS

PEERS = Path(__file__).parent / "peers"
"""What runs in environments of their own."""
Play = Callable[..., dict[str, Any]]


@contextmanager
def served(host: Host, app: str, folder: Path, slugs: dict[str, str], **how: Any) -> Iterator[None]:
    """Serve an app of agents, and make each of its paths the agent ``slug`` of the host."""
    peer = Neighbour(app, folder, **how)
    try:
        with host.client() as client:
            for slug, path in slugs.items():
                url = peer.url.removesuffix("/agent") + path
                made = client.post("/api/v1/agents", json={"slug": slug, "url": url})
                assert made.status_code == 201, made.text
        yield
    finally:
        peer.stop()


@pytest.fixture(scope="session")
def concierge(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The host with the agent ``concierge``."""
    app = "tests.conformance.products.agents.concierge:app"
    with served(desk, app, tmp_path_factory.mktemp("concierge"), {"concierge": "/agent"}):
        yield desk


def python(name: str) -> Path:
    """The Python of a product's environment, with what its lock file pins; made once."""
    return programs(f"newest/{name}" if NEWEST else name, LOCKS / f"{name}.lock") / "python"


def play(name: str, *arguments: str, **env: str) -> dict[str, Any]:
    """What a program of ``peers`` prints, run with that product alone."""
    program = PEERS / f"{name.replace('-', '_')}.py"
    done = subprocess.run(
        [python(name), "-P", program, *arguments],  # its own folder would hide the product
        env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))
