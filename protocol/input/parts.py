"""The parts of a message's content: known kinds are checked, unknown ones left out.

The ``binary`` part of AG-UI 0.x, which 1.0 clients refuse, becomes the media part that took its
place, as ``@ag-ui/client`` 1.0.0 does it.
"""

from typing import Any

from protocol.input.fields import check_texts, picked, rename, text, wrong

MEDIA = ("image", "audio", "video", "document")
SOURCES: dict[str, tuple[str, ...]] = {
    "data": ("value", "mimeType"),
    "url": ("value",),
    "file": ("value",),
}
SNAKE = {"mime_type": "mimeType"}


def clean_parts(content: list[Any], path: str, unknown: list[str]) -> list[dict[str, Any]]:
    """The parts that are understood, in wire form; the others are named in ``unknown``.

    Raises Invalid.
    """
    cleaned = []
    for index, part in enumerate(content):
        where = f"{path}.{index}"
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise wrong(where, "an object with a type")
        kept = _part(rename(part, SNAKE), where)
        if kept is None:
            unknown.append(f"{where}.type: {part['type'][:40]}")
        else:
            cleaned.append(kept)
    return cleaned


def _part(part: dict[str, Any], path: str) -> dict[str, Any] | None:
    """The part without unknown members; None for an unknown kind or source."""
    if part["type"] == "binary":
        part = _upgraded(part, path)
    kept = picked(part, ("type", "id", "metadata"))
    check_texts(kept, ("id",), path)
    if kept["type"] == "text":
        return kept | {"text": text(part, "text", path)}
    if kept["type"] not in MEDIA:
        return None
    source = _source(part.get("source"), f"{path}.source")
    return None if source is None else kept | {"source": source}


def _source(value: Any, path: str) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise wrong(path, "an object with a type")
    kept = picked(rename(value, SNAKE), ("type", "value", "mimeType", "provider"))
    needed = SOURCES.get(kept["type"])
    if needed is None:
        return None
    for name in needed:
        text(kept, name, path)
    check_texts(kept, ("mimeType", "provider"), path)
    return kept


def _upgraded(part: dict[str, Any], path: str) -> dict[str, Any]:
    """A binary part as a media part; one with an ``id`` only has no successor, and stays."""
    mime = text(part, "mimeType", path)
    kind = mime.partition("/")[0]
    named = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    for source, name in (("data", "data"), ("url", "url")):
        if part.get(name):
            found = {"type": source, "value": text(part, name, path), "mimeType": mime}
            return {"type": kind if kind in MEDIA else "document", "source": found, **named}
    return part
