"""What a run's citations can be checked against: its context entries and its documents."""

from typing import NamedTuple

from runtimes.context.attachments import document
from runtimes.context.request import RunRequest

MOST = 4_000_000
"""Characters of all sources of one run; what lies beyond is not searched."""

_TEXTS = ("text/", "application/json", "application/xml", "application/x-ndjson")


class Source(NamedTuple):
    """``name``: what an answer may call it beside its number."""

    name: str
    text: str


def sources_of(run: RunRequest) -> list[Source]:
    """Context entries first, then documents in the order of the conversation."""
    found: list[Source] = []
    for entry in run.context:
        value = entry.get("value")
        if isinstance(value, str):
            found.append(Source(str(entry.get("description") or ""), value))
    for message in run.messages:
        content = message.get("content")
        found.extend(
            Source(_name(part), text)
            for part in (content if isinstance(content, list) else ())
            if isinstance(part, dict) and _is_text(part) and (text := document(part)) is not None
        )
    return _bounded(found)


def _bounded(found: list[Source]) -> list[Source]:
    left, kept = MOST, []
    for source in found:
        kept.append(source._replace(text=source.text[:left]))
        left = max(left - len(source.text), 0)
    return kept


def _is_text(part: dict[str, object]) -> bool:
    source = part.get("source")
    mime = source.get("mimeType") if isinstance(source, dict) else part.get("mimeType")
    return not mime or str(mime).startswith(_TEXTS)


def _name(part: dict[str, object]) -> str:
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, dict) else part.get("filename")
    return str(name or "")
