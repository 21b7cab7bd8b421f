"""Documents that a user attached to a message."""

import base64
import binascii
from typing import Any


def document(part: dict[str, Any]) -> str | None:
    """The text of a document part that carries its data; None for any other part."""
    origin = part.get("source") if isinstance(part.get("source"), dict) else part
    if part.get("type") not in ("document", "binary") or not isinstance(origin, dict):
        return None
    data = origin.get("value") if origin.get("type") == "data" else origin.get("data")
    if not isinstance(data, str):
        return None  # It is a link or a file handle: nothing is fetched.
    try:
        return decoded(base64.b64decode(data, validate=True))
    except binascii.Error:
        return data  # Some clients put the text itself here.


def decoded(data: bytes) -> str:
    """Bytes as text: by their byte order mark, as UTF-8, or in the old encoding of spreadsheets."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
