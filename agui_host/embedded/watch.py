"""Notices changed Python files, for `manage.py up --reload`, by their time of modification."""

import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SKIPPED = {"__pycache__", "node_modules", "staticfiles", "tests"}


def roots_of(modules: Iterable[str]) -> list[Path]:
    """The directories or files of importable modules, without missing ones."""
    roots: list[Path] = []
    for name in modules:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            continue
        if spec is not None and spec.submodule_search_locations:
            roots += map(Path, spec.submodule_search_locations)
        elif spec is not None and spec.origin:
            roots.append(Path(spec.origin))
    return roots


class Watch:
    """Remembers the files below ``roots`` and reports which one changed since the last call."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.roots = list(roots)
        self._seen = self._look()

    def changed(self) -> str | None:
        """A file that is new, gone or modified, or None."""
        now = self._look()
        before, self._seen = self._seen, now
        different = before.items() ^ now.items()
        return min(path for path, _ in different) if different else None

    def _look(self) -> dict[str, int]:
        return dict(self._files())

    def _files(self) -> Iterator[tuple[str, int]]:
        for root in self.roots:
            if root.is_file():
                yield str(root), root.stat().st_mtime_ns
            for folder, folders, files in os.walk(root):
                folders[:] = [f for f in folders if f not in SKIPPED and not f.startswith(".")]
                for name in files:
                    path = os.path.join(folder, name)
                    if name.endswith(".py") and (time := _modified(path)) is not None:
                        yield path, time


def _modified(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:  # an editor replaces files while we look
        return None
