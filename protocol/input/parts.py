"""The parts of a message's content: known kinds are checked, unknown ones left out.

The ``binary`` part of AG-UI 0.x, which 1.0 clients reject, becomes the media part that replaced it,
as in ``@ag-ui/client`` 1.0.0.
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
    """The known parts in wire form; the names of the others are added to ``unknown``.

    Raises Invalid.
    """
    cleaned = []
    for index, part in enumerate(content):
        where = f"{path}.{index}"
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise wrong(where, "an object with a type")
        wire_part = _part(rename(part, SNAKE), where)
        if wire_part is None:
            unknown.append(f"{where}.type: {part['type'][:40]}")
        else:
            cleaned.append(wire_part)
    return cleaned


def _part(part: dict[str, Any], path: str) -> dict[str, Any] | None:
    """The part without unknown members; None for an unknown kind or source."""
    if part["type"] == "binary":
        part = _upgraded(part, path)
    cleaned = picked(part, ("type", "id", "metadata"))
    check_texts(cleaned, ("id",), path)
    if cleaned["type"] == "text":
        return cleaned | {"text": text(part, "text", path)}
    if cleaned["type"] not in MEDIA:
        return None
    source = _source(part.get("source"), f"{path}.source")
    return None if source is None else cleaned | {"source": source}


def _source(value: Any, path: str) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise wrong(path, "an object with a type")
    cleaned = picked(rename(value, SNAKE), ("type", "value", "mimeType", "provider"))
    needed = SOURCES.get(cleaned["type"])
    if needed is None:
        return None
    for name in needed:
        text(cleaned, name, path)
    check_texts(cleaned, ("mimeType", "provider"), path)
    return cleaned


def _upgraded(part: dict[str, Any], path: str) -> dict[str, Any]:
    """A binary part as a media part; one with only an ``id`` has no successor and stays."""
    mime = text(part, "mimeType", path)
    kind = mime.partition("/")[0]
    named = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    for source, name in (("data", "data"), ("url", "url")):
        if part.get(name):
            origin = {"type": source, "value": text(part, name, path), "mimeType": mime}
            return {"type": kind if kind in MEDIA else "document", "source": origin, **named}
    return part
