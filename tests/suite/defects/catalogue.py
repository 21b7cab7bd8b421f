"""The defects of ``planted/*.toml``, and how one is planted into a copy of the sources."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("planted")
TEST = re.compile(r"(tests/[\w/]+/test_\w+\.py)(?:::(\w+))?(?:::(\w+))?")
"""A file of tests, perhaps a class and a test in it."""


class Defect(NamedTuple):
    """Text of a file that is replaced, the promise this breaks, and the tests that have to fail."""

    group: str
    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: list[str]

    def planted(self, text: str) -> str:
        """The file's text with the defect. Raises ValueError unless ``old`` stands in it once."""
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.group}/{self.name}: {self.file} has its text {times} times")
        return text.replace(self.old, self.new)

    @contextmanager
    def planted_in(self, root: Path) -> Iterator[None]:
        """Keep the defect in this checkout for a while."""
        path = root / self.file
        text = path.read_text("utf-8")
        path.write_text(self.planted(text), "utf-8")
        try:
            yield
        finally:
            path.write_text(text, "utf-8")


def defects(folder: Path = FOLDER) -> list[Defect]:
    """All of them, in the order of the files."""
    return [
        Defect(path.stem, **table)
        for path in sorted(folder.glob("*.toml"))
        for table in tomllib.loads(path.read_text("utf-8"))["defect"]
    ]


def faults(defect: Defect, root: Path) -> Iterator[str]:
    """Why this defect can no longer be planted, or its tests can no longer be run."""
    try:
        defect.planted((root / defect.file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        yield str(error)
    if defect.old == defect.new or not defect.promise or not defect.tests:
        yield f"{defect.group}/{defect.name}: changes nothing, breaks no promise or names no test"
    for name in defect.tests:
        match = TEST.fullmatch(name)
        path = root / match[1] if match else root / name
        text = path.read_text("utf-8") if path.is_file() else ""
        if not text or (match and not all(_defines(text, part) for part in match.groups()[1:])):
            yield f"{defect.group}/{defect.name}: no test {name}"


def _defines(text: str, name: str | None) -> bool:
    return name is None or bool(re.search(rf"^\s*(?:async def|def|class) {name}\b", text, re.M))
