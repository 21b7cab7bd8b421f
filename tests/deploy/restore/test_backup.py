"""The blocks of docs/backup.md, run as they stand, from one server into another."""

import asyncio
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from agui_host.embedded import embedded
from tests.acceptance.host import Host, wait_for
from tests.backends.s3 import bucket
from tests.conftest import own_data_dir
from tests.deploy.restore.blocks import agui_host, blocks, programs, run, url
from tests.histories.checker import check, read
from tests.histories.load import resting
from tests.histories.load.clients import Clients
from tests.histories.load.readers import Sse
from tests.histories.load.starting import Order
from tests.histories.recording import Recording

CONTENT = b"some text" * 100_000
RUNS = 5
CLAIM = "from agui_host.runtimes import file_directory; file_directory.claim()"


@pytest.fixture
def new_server() -> Iterator[Path]:
    with own_data_dir() as data:
        servers = embedded.start(data, valkey=False, postgres_options=["fsync=off"])
        yield data
        servers.stop()


def test_the_blocks_dump_and_restore(
    new_host: Callable[..., Host], new_server: Path, tmp_path: Path
) -> None:
    """A host of the restored database has all that readers received: the checker compares them."""
    host = new_host()
    history = tmp_path / "history.jsonl"
    with Recording(history) as recording:
        recording.write("history", version=1)
        asyncio.run(receive(host, recording))
        env = restored(host, new_server, tmp_path)
        host.worker.stop()
        host.web.stop()
        again = Host(host.data, DATABASE_URL=env["NEW_DATABASE_URL"], REDIS_URL="")
        again.spawn(again.web)
        try:
            wait_for(lambda: again.ready() != {}, "the web process to answer")
            resting.rest(again, recording)
        finally:
            again.web.stop()
    wrong, counts = check(partial(read, history))
    assert wrong == []
    assert counts["run"] == counts["start"] == RUNS
    assert counts["log"] == counts["event"] > 10 * RUNS


async def receive(host: Host, recording: Recording) -> None:
    """Start runs, and read each to its end."""
    clients = Clients([host.url], {"ann": host.key}, recording, random.Random(1))
    for number in range(RUNS):
        order = Order(clients, [{"text": "a ", "n": 10}], key=f"{number}", thread=f"of {number}")
        await Sse(clients, await order.start()).read()


def restored(host: Host, new_server: Path, tmp_path: Path) -> dict[str, str]:
    """Run the blocks; the environment in which they ran."""
    dump, restore = blocks("backup.md", "sh")
    assert restore.splitlines()[-1].split("agui-host ")[1].startswith("migrate")
    new = url(new_server, "keeper", "restored")
    env = {
        **os.environ,
        "PATH": programs(tmp_path / "bin"),
        "OLD_DATABASE_URL": url(host.data, "postgres", "postgres"),
        "NEW_ADMIN_URL": url(new_server, "postgres", "postgres"),
        "NEW_DATABASE_URL": new,
        "REDIS_URL": "",
        "AGUI_DATA_DIR": str(new_server),
        "AGUI_AGENT_MODULES": "",
    }
    for block in (dump, restore):
        run(block, tmp_path, env)

    def count(address: str, table: str) -> int:
        command = ["psql", "-XAt", "-c", f"select count(*) from {table}", address]  # noqa: S608
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=60, check=True
        )
        return int(done.stdout)

    for table in ("runs_run", "runs_thread", "events_event", "teams_team", "runtimes_agent"):
        before, after = count(env["OLD_DATABASE_URL"], table), count(new, table)
        # The restore's `migrate` brings agents of the code to teams that lack some of them.
        assert 0 < before == after or (table == "runtimes_agent" and 0 < before < after), table
    doctor = subprocess.run(
        [str(tmp_path / "bin" / "agui-host"), "doctor"], cwd=tmp_path,
        env=env | {"DATABASE_URL": new}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    faults = [line for line in doctor.stdout.splitlines() if line.startswith("fault")]
    subjects = {line[7:20].strip() for line in faults}
    assert subjects <= {"workers", "roles", "policies", "agents"}, faults
    assert not any("There is no role" in line or "no right" in line for line in faults), faults
    return env


def test_the_blocks_copy_files_into_a_bucket_and_back(host: Host, tmp_path: Path) -> None:
    with host.client() as client, bucket.served() as copy:
        made = client.post(
            "/api/v1/files?name=a.txt", content=CONTENT, headers={"content-type": "text/plain"}
        )
        assert made.status_code == 201, made.text
        program = agui_host(tmp_path / "bin")
        env = {
            **host.env,
            **{name: value for name, value in os.environ.items() if name.startswith("AWS_")},
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "DATABASE_URL": url(host.data, "postgres", "postgres"),
            "REDIS_URL": "",
            "FILES_COPY": copy,
        }

        def shell(command: str, files: Path) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["bash", "-ec", command], cwd=tmp_path, env=env | {"AGUI_FILES": str(files)},
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip

        there, back = blocks("backup.md", "bash")
        marked = tmp_path / "marked"
        assert shell(f"agui-host shell -v0 -c '{CLAIM}'", marked).returncode == 0
        done = shell(there, host.data / "files")
        assert done.returncode == 0, done.stderr
        done = shell(back, tmp_path / "new")
        assert done.returncode == 0, done.stderr
    new = tmp_path / "new"
    (stored,) = (path for path in new.rglob("*") if path.name == made.json()["id"])
    assert stored.read_bytes() == CONTENT
    assert (new / "store_id").read_text() == (marked / "store_id").read_text()
    stored.unlink()
    env["FILES_COPY"] = str(new)
    done = shell(back, tmp_path / "third")
    assert done.returncode == 1
    assert f"missing: {stored.relative_to(new)}" in done.stdout
    assert "lacks 1 files" in done.stderr
