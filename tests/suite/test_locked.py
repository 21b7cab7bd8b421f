"""An environment is made again for another lock file, not for another clone."""

import os
from pathlib import Path

from tests.suite import locked


def test_only_another_content_counts(tmp_path: Path) -> None:
    lock, stamp = tmp_path / "dev.lock", tmp_path / ".stamp"
    lock.write_text("a==1\n")
    assert not locked.is_installed(stamp, lock)
    locked.note(stamp, lock)
    os.utime(stamp, (0, 0))
    assert locked.is_installed(stamp, lock)
    lock.write_text("a==2\n")
    assert not locked.is_installed(stamp, lock)
