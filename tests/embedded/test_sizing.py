"""The embedded PostgreSQL takes its share of the machine, between two bounds."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from agui_host.embedded import sizing

GB = 2**30


@pytest.mark.parametrize(
    ("memory", "free", "expected"),
    [
        (GB // 2, 5 * GB, ["shared_buffers=128MB", "max_wal_size=1024MB"]),
        (8 * GB, 60 * GB, ["shared_buffers=1024MB", "max_wal_size=3072MB"]),
        (512 * GB, 9000 * GB, ["shared_buffers=2048MB", "max_wal_size=4096MB"]),
    ],
)
def test_settings(
    memory: int,
    free: int,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sizing, "memory", lambda: memory)
    monkeypatch.setattr(sizing.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert sizing.settings(tmp_path) == expected


def test_a_container_has_less_memory_than_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(sizing, "CONTAINER", limit)
    machine = sizing.memory()
    limit.write_text("268435456\n")
    assert sizing.memory() == 268435456
    limit.write_text("max\n")
    assert sizing.memory() == machine > 268435456
