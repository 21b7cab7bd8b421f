"""Search in this host's own documentation: sections of Markdown, ranked by SQLite's BM25."""

import functools
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

FENCE = ("```", "~~~")
LONGEST_HEADING = 200
MOST_WORDS = 40
DEPTH = 5
"""Sections that are ranked for each that is returned: several of one page crowd others out."""
LEFT_OUT = ("adr", "seeds", "upstream")
"""Folders of docs/ for those who build the host: decisions, origins and dependencies' faults."""
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be but by can could did do does for from get have how i if in is it"
        " its may me my not of on one or our should so some that the their them there these this to"
        " us use was we what when where which who why will with would you your",
    )
)
# A heading counts more than its text; FTS5 stems English words by Porter's rules.
INDEX = "create virtual table section using fts5(heading, body, tokenize='porter unicode61')"
RANKED = """
    select rowid from section where section match ? order by bm25(section, 4.0, 1.0), rowid limit ?
"""


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of one file and the text below it, up to the next heading."""

    file: str
    heading: str
    body: str

    @property
    def anchor(self) -> str:
        """The URL fragment that a Markdown renderer gives the heading."""
        slug = re.sub(r"[^\w\- ]", "", self.heading.rpartition(" › ")[2].lower())
        return f"{self.file}#{slug.strip().replace(' ', '-')}"


def split(file: str, text: str) -> Iterator[Section]:
    """The sections of a Markdown text; a heading includes its parents, "Guide › Start"."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in FENCE and (not fence or mark == fence):
            fence = "" if fence else mark
        heading = None if fence else _heading(line)
        if heading is None:
            body.append(line)
            continue
        yield from _section(file, path, body)
        body = []
        path = [*(part for part in path if part[0] < heading[0]), heading]
    yield from _section(file, path, body)


def _heading(line: str) -> tuple[int, str] | None:
    """The level and text of a heading, cut because every section below repeats it."""
    if not line.startswith("#"):
        return None
    title = line.lstrip("#")
    level = len(line) - len(title)
    if not 1 <= level <= 6 or not title[:1].isspace():
        return None
    title = title.strip().rstrip("#").rstrip() or title.strip()
    return (level, title[:LONGEST_HEADING]) if title else None


def _section(file: str, path: list[tuple[int, str]], body: list[str]) -> Iterator[Section]:
    text = "\n".join(body).strip()
    if text:
        yield Section(file, " › ".join(name for _, name in path) or file, text)


def pages() -> list[Path]:
    """README.md and the Markdown files in docs/ for people who use or run the host."""
    docs: Path = settings.BASE_DIR / "docs"
    below = sorted(
        page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0] not in LEFT_OUT
    )
    return [page for page in (settings.BASE_DIR / "README.md", *below) if page.is_file()]


@dataclass(frozen=True, slots=True)
class Library:
    """The sections of all pages, and an index of them in memory."""

    sections: tuple[Section, ...]
    index: sqlite3.Connection

    def search(self, question: str, most: int = 5) -> tuple[list[Section], bool]:
        """The best section of each of the best pages, and whether the first has every word.

        Words in double quotes are a phrase. Further sections follow where there are few pages.
        """
        terms = list(dict.fromkeys(_terms(question)))[:MOST_WORDS]
        if not terms:
            return [], False
        ranked = self._ranked(" OR ".join(terms), most * DEPTH)
        first_of_pages = {self.sections[number].file: number for number in reversed(ranked)}
        first = set(first_of_pages.values())
        best = sorted(ranked, key=lambda number: number not in first)[:most]
        complete = set(self._ranked(" AND ".join(terms), len(self.sections)))
        return [self.sections[number] for number in best], best[:1] != [] and best[0] in complete

    def _ranked(self, query: str, most: int) -> list[int]:
        return [number for (number,) in self.index.execute(RANKED, (query, most))]


def _terms(question: str) -> Iterator[str]:
    """Words and phrases as FTS5 writes them; the words that every page has are left out."""
    for phrase, word in re.findall(r'"([^"]+)"|(\w+)', question):
        words = re.findall(r"\w+", phrase) if phrase else [word]
        if words and (phrase or word.lower() not in STOP_WORDS):
            yield f'"{" ".join(words)}"'


def library() -> Library:
    """All pages; read again when one changes."""
    return _read(tuple((page, page.stat().st_mtime_ns) for page in pages()))


@functools.lru_cache(maxsize=1)
def _read(stamped: tuple[tuple[Path, int], ...]) -> Library:
    sections = tuple(
        section
        for page, _ in stamped
        for section in split(
            page.relative_to(settings.BASE_DIR).as_posix(), page.read_text("utf-8", "replace")
        )
    )
    # Threads share it: SQLite locks each statement, and nothing is written after this.
    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute(INDEX)
    index.executemany(
        "insert into section (rowid, heading, body) values (?, ?, ?)",
        (
            (number, f"{section.heading} {section.file}", section.body)
            for number, section in enumerate(sections)
        ),
    )
    return Library(sections, index)
