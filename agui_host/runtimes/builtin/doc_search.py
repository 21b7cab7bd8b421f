"""Search in this host's own documentation: sections of Markdown, ranked by Postgres."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

FENCE = ("```", "~~~")
LONGEST_HEADING = 200
MOST_WORDS = 40
# The text search weighs headings more. Nothing is stored, as there are few docs.
SEARCH = """
    select s.position, ts_rank_cd(v.vector, q.query, 32) as rank
    from unnest(%s::text[], %s::text[]) with ordinality as s(heading, body, position),
         lateral (select setweight(to_tsvector('english', s.heading), 'A')
                      || setweight(to_tsvector('english', s.body), 'C') as vector) as v,
         websearch_to_tsquery('english', %s) as q(query)
    where v.vector @@ q.query
    order by rank desc, s.position
    limit %s
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
    """README.md and every Markdown file in docs/."""
    root: Path = settings.BASE_DIR
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in paths if page.is_file()]


def sections() -> tuple[Section, ...]:
    """All sections of all pages; read again when a page changes."""
    return _read(tuple((page, page.stat().st_mtime_ns) for page in pages()))


@functools.lru_cache(maxsize=1)
def _read(stamped: tuple[tuple[Path, int], ...]) -> tuple[Section, ...]:
    return tuple(
        section
        for page, _ in stamped
        for section in split(
            page.relative_to(settings.BASE_DIR).as_posix(), page.read_text("utf-8", "replace")
        )
    )


def search(question: str, among: tuple[Section, ...], most: int = 5) -> tuple[list[Section], bool]:
    """The best matching sections, best first, and whether they contain every word asked for.

    Takes the syntax of search engines ("exact phrase", -without, or); if no section contains all
    words, any of the words will do.
    """
    clean = question.replace("\x00", " ").encode("utf-8", "replace").decode()
    words = re.findall(r"\w+", clean)[:MOST_WORDS]
    if best := _ranked(" ".join(clean.split()[:MOST_WORDS]), among, most):
        return best, True
    return _ranked(" or ".join(words), among, most), False


def _ranked(query: str, among: tuple[Section, ...], most: int) -> list[Section]:
    headings = [f"{section.heading} {section.file}" for section in among]
    bodies = [section.body.replace("\x00", " ") for section in among]
    with connection.cursor() as cursor:
        cursor.execute(SEARCH, [headings, bodies, query, most])
        return [among[position - 1] for position, _ in cursor.fetchall()]
