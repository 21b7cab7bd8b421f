"""Markdown of the documentation as HTML: its own text only, so no HTML of a page passes through."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agui_host.dashboard.manual.files import address, resolved, served

ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: the text of its first heading, and its HTML."""

    title: str
    html: SafeString


def rendered(file: Path, root: str) -> Page:
    """A page whose links begin with ``root``, the address of the documentation."""
    return _rendered(file, root, file.stat().st_mtime_ns)


@lru_cache(maxsize=128)
def _rendered(file: Path, root: str, changed: int) -> Page:
    tokens = PARSER.parse(file.read_text("utf-8", "replace"))
    titles = list(_anchored(tokens))
    for token in tokens:
        for child in token.children or ():
            _lead(child, address(file), root)
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    # The pages come with the host, and the parser escapes what is not Markdown.
    return Page(titles[0] if titles else file.stem, mark_safe(html))  # noqa: S308


def _anchored(tokens: list[Token]) -> Iterator[str]:
    """Give each heading the anchor that links name, as GitHub makes it; the headings' texts."""
    taken: dict[str, int] = {}
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(part.content for part in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            number = taken[slug] = taken.get(slug, -1) + 1
            heading.attrSet("id", f"{slug}-{number}" if number else slug)
            yield text


def _lead(token: Token, page: str, root: str) -> None:
    """Point a link or a picture to its file here, and a link to any other file nowhere."""
    name = {"link_open": "href", "image": "src"}.get(token.type)
    link = str(token.attrGet(name) or "") if name else ""
    if not name or ELSEWHERE.match(link) or link.startswith(("/", "#")):
        return
    target = resolved(page, link)
    if target is None:
        del token.attrs[name]
        return
    token.attrSet(name, f"{root}{target}")
    if target.endswith(".png"):
        width, height = struct.unpack(">II", served()[target].read_bytes()[16:24])
        # With them, the text below keeps its place while the picture loads.
        token.attrSet("width", str(width))
        token.attrSet("height", str(height))
