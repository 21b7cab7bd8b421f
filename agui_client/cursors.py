"""Cursors: where a program is in each run, in a file that outlives the program."""

import sqlite3
from pathlib import Path

Cursor = int | str
"""Opaque: a program gives it back as the host wrote it, such as 17 or "2-17"."""


def seq_of(cursor: Cursor) -> int:
    """The number of the event at a cursor. Raises ValueError."""
    return int(str(cursor).rpartition("-")[2])


def behind(cursor: Cursor, frames: int) -> Cursor:
    """The cursor so many events later, of a socket whose frames have none."""
    epoch, hyphen, _ = str(cursor).rpartition("-")
    seq = seq_of(cursor) + frames
    return f"{epoch}-{seq}" if hyphen else seq


def _is_newer(cursor: Cursor, old: Cursor) -> bool:
    epochs = [int(str(each).rpartition("-")[0] or 1) for each in (cursor, old)]
    return (epochs[0], seq_of(cursor)) > (epochs[1], seq_of(old))


class Cursors:
    """The newest position of each run, and of the feed, that the program is done with.

    The file survives a program that is killed; several processes can share it.
    """

    def __init__(self, path: str | Path) -> None:
        # Each statement is its own transaction; the lock of the file orders them.
        self._rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._rows.create_function("is_newer", 2, _is_newer, deterministic=True)
        self._rows.execute("pragma journal_mode = wal")
        self._rows.execute("pragma synchronous = normal")
        self._rows.execute(
            "create table if not exists cursors"
            " (name text primary key, position integer not null) without rowid"
        )

    def get(self, name: str) -> Cursor | None:
        """The position of a run (by its id) or of the feed; None for a run that was never read."""
        row = self._rows.execute("select position from cursors where name = ?", [name]).fetchone()
        return None if row is None else row[0]

    def save(self, name: str, position: Cursor) -> None:
        """Move on to ``position``; never back."""
        self._rows.execute(
            "insert into cursors values (?, ?) on conflict (name) do update"
            " set position = excluded.position where is_newer(excluded.position, position)",
            [name, position],
        )

    def restart(self, name: str) -> None:
        """Go back to the start, since the host's history went back: the one way back."""
        self._rows.execute(
            "insert into cursors values (?, 0) on conflict (name) do update set position = 0",
            [name],
        )

    def forget(self, name: str) -> None:
        """Read this one from its start the next time."""
        self._rows.execute("delete from cursors where name = ?", [name])

    def close(self) -> None:
        self._rows.close()
