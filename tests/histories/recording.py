"""Writes a history: a line for each thing that a client received (docs/histories.md)."""

import json
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.histories.checker.lines import MEMBERS


class Recording:
    """The file of a history. Threads and tasks may write; lines of one caller stay in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, kind: str, **members: object) -> None:
        assert set(MEMBERS[kind].split()) <= members.keys(), f"{kind}: {members}"
        text = json.dumps({"kind": kind, **members})
        with self._lock:
            self.counts[kind] += 1
            self._file.write(text + "\n")

    @property
    def elapsed(self) -> float:
        return round(time.monotonic() - self.began, 2)

    def fault(self, name: str) -> None:
        self.write("fault", name=name, at=self.elapsed)
