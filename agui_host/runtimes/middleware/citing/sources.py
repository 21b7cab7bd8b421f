"""The sources for checking a run's citations: its context entries and its documents."""

from typing import NamedTuple

from agui_host.runtimes.context.attachments import document
from agui_host.runtimes.context.request import RunRequest

MOST = 4_000_000
"""How many characters of all sources of one run are searched."""

_TEXTS = ("text/", "application/json", "application/xml", "application/x-ndjson")


class Source(NamedTuple):
    """``name``: how an answer can refer to it besides its number."""

    name: str
    text: str


def sources_of(run: RunRequest) -> list[Source]:
    """Context entries first, then documents in the order of the conversation."""
    sources: list[Source] = []
    for entry in run.context:
        value = entry.get("value")
        if isinstance(value, str):
            sources.append(Source(str(entry.get("description") or ""), value))
    for message in run.messages:
        content = message.get("content")
        sources.extend(
            Source(_name(part), text)
            for part in (content if isinstance(content, list) else ())
            if isinstance(part, dict) and _is_text(part) and (text := document(part)) is not None
        )
    return _bounded(sources)


def _bounded(sources: list[Source]) -> list[Source]:
    left, bounded = MOST, []
    for source in sources:
        bounded.append(source._replace(text=source.text[:left]))
        left = max(left - len(source.text), 0)
    return bounded


def _is_text(part: dict[str, object]) -> bool:
    source = part.get("source")
    mime = source.get("mimeType") if isinstance(source, dict) else part.get("mimeType")
    return not mime or str(mime).startswith(_TEXTS)


def _name(part: dict[str, object]) -> str:
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, dict) else part.get("filename")
    return str(name or "")
