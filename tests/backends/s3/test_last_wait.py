"""A process that ends right after an answer of a bucket ends as it should."""

import subprocess
import sys
from pathlib import Path

PUT = """
import asyncio, sys
from agui_host.backends.file_store import bucket
from obstore.store import LocalStore

async def put_all():
    store = LocalStore(sys.argv[1], mkdir=True)
    await asyncio.gather(*(bucket.obstore.put_async(store, f"{n}", b"x") for n in range(5)))

asyncio.run(put_all())
"""
AT_ONCE, ROUNDS = 6, 5


def test_no_process_is_aborted_at_its_end(tmp_path: Path) -> None:
    """By a local store of the same library: its threads do the same."""
    command = [sys.executable, "-c", PUT, str(tmp_path)]
    codes = []
    for _ in range(ROUNDS):
        each = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(AT_ONCE)]
        codes += [process.wait(60) for process in each]
    assert set(codes) == {0}
