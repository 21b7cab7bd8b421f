"""The blocks of docs/upgrade.md by which an embedded database moves to another engine."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.acceptance.host import Host
from tests.conftest import own_data_dir
from tests.deploy.restore.blocks import blocks, programs, read_from, run


def test_an_embedded_database_moves(new_host: Callable[..., Host], tmp_path: Path) -> None:
    """To the same engine, since the wheel has only one, but into another directory."""
    host = new_host()
    run_id = host.begin(script=[{"text": "a ", "n": 10}])["id"]
    host.wait_status(run_id, "succeeded")
    events, epoch = host.events(run_id), host.ready()["epoch"]
    host.stop()
    files = host.data / "files"
    files.mkdir(exist_ok=True)
    (files / "kept").write_text("a file")
    dump, restore = blocks("upgrade.md", "shell")
    with own_data_dir() as new:
        env = os.environ | {
            "PATH": programs(tmp_path / "bin"), "AGUI_DATA_DIR": str(host.data),
            "NEW_DATA_DIR": str(new), "DATABASE_URL": "", "REDIS_URL": "",
        }  # fmt: skip
        run(dump, tmp_path, env)
        run(restore, tmp_path, env)
        assert (new / "files" / "kept").read_text() == "a file"
        assert (new / "secret_key").read_text() == (host.data / "secret_key").read_text()
        with read_from(new) as again:
            assert again.events(run_id) == events
            assert again.ready()["epoch"] > epoch
