"""Cursors: where a program is in each run, in a file that outlives the program."""

import sqlite3
from pathlib import Path


class Cursors:
    """The newest position of each run, and of the feed, that the program is done with.

    The file survives a program that is killed; several processes may share it.
    """

    def __init__(self, path: str | Path) -> None:
        # Each statement is a transaction of its own; the lock of the file orders them.
        self._rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._rows.execute("pragma journal_mode = wal")
        self._rows.execute("pragma synchronous = normal")
        self._rows.execute(
            "create table if not exists cursors"
            " (name text primary key, position integer not null) without rowid"
        )

    def get(self, name: str) -> int | None:
        """The position of a run (by its id) or of the feed; None for one that was never read."""
        row = self._rows.execute("select position from cursors where name = ?", [name]).fetchone()
        return None if row is None else int(row[0])

    def save(self, name: str, position: int) -> None:
        """Move on to ``position``; never back."""
        self._rows.execute(
            "insert into cursors values (?, ?) on conflict (name) do update"
            " set position = excluded.position where excluded.position > position",
            [name, position],
        )

    def forget(self, name: str) -> None:
        """Read this one from its start the next time."""
        self._rows.execute("delete from cursors where name = ?", [name])

    def close(self) -> None:
        self._rows.close()
