"""The files of the documentation, by the address below ``/docs/`` that each has."""

import posixpath
from functools import lru_cache
from pathlib import Path

from django.conf import settings

PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}
FRONT = "README.md"
GROUPS = (
    ("Start", ("quickstart", "agents", "clients", "protocol", "limits", "permissions", "compared")),
    (
        "Run it",
        (
            "deploy",
            "operations",
            "settings",
            "backup",
            "upgrade",
            "versions",
            "sizes",
            "security",
            "audit",
        ),
    ),
)
"""Pages that the list names first; after them the pages of one task each, then the others."""


def served() -> dict[str, Path]:
    """Every page and picture of the installation; the README is the front page."""
    return _served(settings.BASE_DIR)


@lru_cache(maxsize=1)
def _served(root: Path) -> dict[str, Path]:
    paths = [root / FRONT, *sorted((root / "docs").rglob("*"))]
    kinds = (".md", ".yaml", *PICTURES)
    return {address(file): file for file in paths if file.suffix in kinds and file.is_file()}


def address(file: Path) -> str:
    """Of a file of the documentation: ``howto-share.md``, and nothing for the README."""
    name = file.relative_to(settings.BASE_DIR).as_posix()
    return "" if name == FRONT else name.removeprefix("docs/")


@lru_cache(maxsize=256)
def title(name: str) -> str:
    """The first heading of a page: its other text is not read for the list of all pages."""
    with served()[name].open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), name)


def resolved(page: str, link: str) -> str | None:
    """Where a relative link of a page leads, below ``/docs/``; None if no such file is served.

    Links are written for readers of the checkout: the README is one folder above the others.
    """
    path, mark, fragment = link.partition("#")
    if not path:
        return link
    folder = "" if page == "" else posixpath.dirname(f"docs/{page}")
    target = posixpath.normpath(posixpath.join(folder, path))
    name = "" if target == FRONT else target.removeprefix("docs/")
    if (name and target == name) or name not in served():
        return None
    return f"{name}{mark}{fragment}"


def grouped() -> list[tuple[str, list[str]]]:
    """The pages by group, for the list beside each page; decisions and origins are left out."""
    pages = [name for name in served() if name.endswith(".md") and "/" not in name]
    groups = [(title, [f"{name}.md" for name in names]) for title, names in GROUPS]
    groups.insert(1, ("How to", [name for name in pages if name.startswith("howto-")]))
    named = {name for _, names in groups for name in names}
    examples = [name for name in served() if name.startswith("examples/") and name.endswith(".md")]
    rest = [name for name in pages if name not in named]
    return [*groups, ("Examples", examples), ("More", rest)]
