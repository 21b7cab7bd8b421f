"""For MkDocs: the README is the front page, and a link out of docs/ is its text."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!README\.md)[^)]*\)")
FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
"""A language and the words for the tests of these pages; MkDocs takes the language only."""
FRONT = re.compile(r"\]\((?:\.\./)+README\.md")


def on_files(files: Any, config: Any) -> Any:
    """Add the README as ``index.md``; its links begin with ``docs/``, or lead out."""
    text = (ROOT / "README.md").read_text()
    text = re.sub(r"\[([^\]]*)\]\((?!docs/|https?:|#)[^)]*\)", r"\1", text)
    kind = type(next(iter(files)))  # MkDocs is in an environment of its own, this file is not
    files.append(kind.generated(config, "index.md", content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Any, **rest: Any) -> str:
    """Point links to the README to the front page."""
    up = "../" * page.file.src_uri.count("/")
    inside = re.compile(rf"\]\({up}\.\./docs/")
    markdown = FENCE.sub(r"\1", inside.sub(f"]({up}", markdown))
    return OUT.sub(_kept(up.count("../")), FRONT.sub(f"]({up}index.md", markdown))


def _kept(depth: int) -> Any:
    """A link that climbs no higher than docs/ stays."""
    return lambda link: link[0] if link[0].count("../") <= depth else link[1]
