"""The files of this repository, as git sees them: tracked ones, and new ones not ignored."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agui_host", "agui_project", "events", "runs", "agui_client")
BELOW = "agui_host"
ROOMS = (
    "agui_project", "embedded", "security", "backends", "teams", "runtimes", "frameworks",
    "testing", "events", "protocol", "runs", "web", "dialects", "dashboard", "doctor", "apply",
    "scim", "agui_client", BELOW,
)  # fmt: skip
"""Of the product; most are folders of ``agui_host``, whose own files are a small room too."""
CODE = re.compile(rf"`((?:{'|'.join(PACKAGES)}|docs|static)/[\w/.-]+\.\w+)`")
"""A file of the product that a page names."""
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def within(path: Path) -> tuple[str, ...]:
    """The parts of a path, its room first: ``agui_host/teams/keys.py`` is in the room teams."""
    return path.parts[1:] if path.parts[:1] == (BELOW,) and len(path.parts) > 2 else path.parts


def files(root: Path = ROOT) -> list[Path]:
    """Relative paths, in order; what git lists but is deleted is left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    paths = sorted({Path(name) for name in listed.split("\0") if name})
    return [path for path in paths if (root / path).is_file()]


def copy(to: Path) -> Path:
    """A copy of the repository, for planting what must not be."""
    for path in files():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, to / path)
    subprocess.run(["git", "init", "--quiet"], cwd=to, check=True)
    return to


def pages() -> dict[str, str]:
    """The pages at the top and those in docs/, by their path."""
    paths = [path for path in files() if path.suffix == ".md"]
    ours = [path for path in paths if len(path.parts) == 1 or path.parts[0] == "docs"]
    return {path.as_posix(): (ROOT / path).read_text("utf-8") for path in ours}


def docs() -> str:
    """All of docs/ as one text."""
    return "\n".join(text for path, text in pages().items() if path.startswith("docs/"))


def anchors(text: str) -> set[str]:
    """What a Markdown page can be linked to by ``#``."""
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*$", _FENCED.sub("", text), re.MULTILINE)
    titles = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {title.replace(" ", "-") for title in titles}
