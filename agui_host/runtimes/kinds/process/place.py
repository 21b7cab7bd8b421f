"""Where a command works: a directory of one run, or of its thread."""

import hashlib
import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agui_host.embedded import paths

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
MAX_SESSION = 4096
SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with ``work`` (where the command runs), ``home``, ``tmp``, and the session's id.

    Only the host and the command can name a session: a client that could would read other people's,
    or add an option to the command line.
    """

    root: Path
    passing: bool

    @classmethod
    def of_run(cls, data: Path) -> "Place":
        """A directory of one run."""
        return cls(data / "processes" / "runs" / uuid.uuid4().hex, True).made()

    @classmethod
    def of_thread(cls, data: Path, *names: str) -> "Place":
        """The directory for these names (team, agent, thread), whatever they contain."""
        name = hashlib.sha256("\0".join(names).encode(errors="replace")).hexdigest()[:40]
        return cls(data / "processes" / "threads" / name, False).made()

    def made(self) -> "Place":
        """This place, after making its directories."""
        for part in (self.work, self.home, self.tmp):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        return self

    def below(self, names: Sequence[str], uid: int) -> Path:
        """The directory below ``work`` at this path, made if it does not exist.

        Raises OSError if part of the path is not a directory: the command may have left links, and
        the worker, which can be root, follows none.
        """
        here = os.open(self.work, FOLDER)
        try:
            for name in names:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=here)
                    if os.geteuid() == 0:
                        os.chown(name, uid, uid, dir_fd=here, follow_symlinks=False)
                below = os.open(name, FOLDER, dir_fd=here)
                os.close(here)
                here = below
        finally:
            os.close(here)
        return self.work.joinpath(*names)

    def give(self, uid: int) -> None:
        """Give ``work``, ``home`` and ``tmp`` to ``uid``; the session stays the worker's. As root.

        A thread's directory can belong to another account, since the way commands are confined can
        change.
        """
        for folder in (self.root.parent.parent, self.root.parent, self.root):
            folder.chmod(0o711)
        for part in (self.work, self.home, self.tmp):
            if part.stat().st_uid != uid:
                paths.give(part, paths.Account(uid, uid))

    @property
    def work(self) -> Path:
        """The folder in which the command works."""
        return self.root / "work"

    @property
    def home(self) -> Path:
        """HOME: where commands keep their own files."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """TMPDIR."""
        return self.root / "tmp"

    def session(self) -> tuple[str | None, dict[str, int]]:
        """The session that the thread's last run left, if any, and its counts so far.

        The command can write here as well, so nothing in the file is certain.
        """
        try:
            id, _, counts = self._read("session").partition("\n")
            values = json.loads(counts)
            totals = {str(name): int(count) for name, count in dict(values).items()}
        except (OSError, ValueError, TypeError, RecursionError):
            return None, {}
        return (id, totals) if SESSION.fullmatch(id) else (None, {})

    def remember(self, id: str | None, totals: Mapping[str, int] | None = None) -> None:
        """Store the session for the thread's next run, or forget it."""
        if id is not None and not SESSION.fullmatch(id):
            id = None
        with suppress(OSError):
            if id is None:
                (self.root / "session").unlink(missing_ok=True)
                return
            self._write("session", f"{id}\n{json.dumps(dict(totals or {}))}")

    def session_of(self, run: str) -> str | None:
        """The session of a run that has lost its worker, if its command had named it."""
        try:
            id, _, of_run = self._read("attempt").partition("\n")
        except (OSError, ValueError):
            return None
        return id if of_run == run and SESSION.fullmatch(id) else None

    def note(self, run: str, id: str) -> None:
        """Store the session of a run that has just begun, for its next attempt."""
        if SESSION.fullmatch(id):
            with suppress(OSError):
                self._write("attempt", f"{id}\n{run}")

    def _read(self, name: str) -> str:
        # Never a link, and a pipe without a writer must not block the worker.
        end = os.open(self.root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(end) as file:
            return file.read(MAX_SESSION)

    def _write(self, name: str, text: str) -> None:
        fresh = self.root / f"{name}-{uuid.uuid4().hex}"
        fresh.write_text(text)
        fresh.replace(self.root / name)
