"""Which version and commit this host is of: for its log, `/health` and metrics."""

import functools
from pathlib import Path

from django.conf import settings

from agui_host import folders
from agui_project import cli

SHORT = 12


@functools.cache
def version() -> str:
    """The version, without its remark about a clone."""
    return cli.version().split()[0]


@functools.cache
def commit() -> str:
    """The commit: AGUI_COMMIT, which an image sets, a clone's own, or a released package's."""
    return (settings.AGUI_COMMIT or _of_clone(folders.ROOT) or _of_package() or "unknown")[:SHORT]


def _of_package() -> str:
    """The commit that ``make release`` writes next to this file."""
    try:
        return Path(__file__).with_name("COMMIT").read_text().strip()
    except OSError:
        return ""


def _of_clone(root: Path) -> str:
    """The commit that HEAD names, without a call of git, which a server seldom has."""
    place = root / ".git"
    try:
        if place.is_file():  # a work tree, whose references are in its clone
            place = root / place.read_text().removeprefix("gitdir:").strip()
        head = (place / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        shared = place / "commondir"
        common = place / shared.read_text().strip() if shared.is_file() else place
        if (common / name).is_file():
            return (common / name).read_text().strip()
        lines = (common / "packed-refs").read_text().splitlines()
        return next(line.split()[0] for line in lines if line.endswith(f" {name}"))
    except (OSError, StopIteration):
        return ""
