"""The type of a file: its declared type must not contradict its first bytes.

Nothing here, and nothing else on this host, opens a file. But a program that believes a wrong type
might, and a type that is checked can be limited (``AGUI_FILE_TYPES``).
"""

import mimetypes
import re
from collections.abc import Iterable

OPAQUE = "application/octet-stream"
URLENCODED = "application/x-www-form-urlencoded"
"""Curl's default if no type was given."""
HEAD = 4096
"""How many of a file's first bytes tell its type."""
TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
ZIP, OLE, ISO = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"ftyp"
OFFICE = "application/vnd.openxmlformats-officedocument"

SIGNATURES: tuple[tuple[int, bytes, tuple[str, ...]], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", ("image/png", "image/apng")),
    (0, b"\xff\xd8\xff", ("image/jpeg", "image/jpg", "image/pjpeg")),
    (0, b"GIF87a", ("image/gif",)),
    (0, b"GIF89a", ("image/gif",)),
    (8, b"WEBP", ("image/webp",)),
    (8, b"WAVE", ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave")),
    (8, b"AVI ", ("video/x-msvideo", "video/avi")),
    (0, b"II*\x00", ("image/tiff",)),
    (0, b"MM\x00*", ("image/tiff",)),
    (0, b"%PDF-", ("application/pdf", "application/x-pdf")),
    (0, ZIP, ("application/zip", "application/x-zip-compressed", "application/epub+zip",
              "application/java-archive", f"{OFFICE}.", "application/vnd.oasis.opendocument.")),
    (0, OLE, ("application/msword", "application/vnd.ms-")),
    (0, b"\x1f\x8b", ("application/gzip", "application/x-gzip")),
    (0, b"OggS", ("audio/ogg", "video/ogg", "audio/opus", "application/ogg")),
    (0, b"fLaC", ("audio/flac", "audio/x-flac")),
    (0, b"ID3", ("audio/mpeg", "audio/mp3")),
    (4, ISO, ("video/mp4", "audio/mp4", "audio/x-m4a", "audio/m4a", "video/quicktime",
              "image/heic", "image/heif", "image/avif", "video/3gpp")),
    (0, b"\x1aE\xdf\xa3", ("video/webm", "audio/webm", "video/x-matroska")),
    (0, b"\x7fELF", ("application/x-executable", "application/x-elf")),
    (0, b"MZ", ("application/x-msdownload", "application/vnd.microsoft.portable-executable")),
)  # fmt: skip
"""Offset, bytes, and the types of files that have them there; a ``.`` or ``-`` ends a prefix."""
TEXTUAL = ("text/", "application/json", "application/xml", "image/svg+xml")
MEDIA = ("image/", "audio/", "video/", "font/")
MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""Byte order marks of the encodings of text that have NUL in them."""
HARMLESS = ("image/", "audio/", "video/", "text/plain", "text/csv", "application/pdf",
            "application/json", "application/zip")  # fmt: skip
ACTIVE = "svg"
LOOSE = frozenset({"audio/mpeg", "audio/mp3"})
"""Types whose files need not begin with their signature."""
EXCEL, CSV = "application/vnd.ms-excel", "text/csv"


def normal(declared: str) -> str | None:
    """A type without parameters, in lower case; None if it is none."""
    plain = declared.partition(";")[0].strip().lower()
    return plain if TYPE.fullmatch(plain) else None


def guessed(name: str) -> str:
    """The type that a file's name suggests."""
    return mimetypes.guess_type(name, strict=False)[0] or OPAQUE


def recognised(declared: str, head: bytes) -> str | None:
    """The type of a file with this beginning; None if the declared one contradicts it.

    Bytes without a declared type have the type that they show.
    """
    shows = [types for at, mark, types in SIGNATURES if head[at : at + len(mark)] == mark]
    if declared == OPAQUE:
        return shows[0][0] if shows else OPAQUE
    if any(_is(declared, types) for types in shows):
        return declared
    reads = _reads_as_text(head)
    if declared == EXCEL and reads:
        return CSV  # Browsers beside an installed Excel call a table of text so.
    if any(_is(declared, types) for _, _, types in SIGNATURES) and declared not in LOOSE:
        return None  # It would have to begin otherwise.
    if _is_text(declared):
        return declared if reads else None
    if declared.startswith(MEDIA):
        return None if shows or reads else declared
    return declared


def matches(media_type: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns (``*/*``, ``image/*``, ``application/pdf``) covers a type."""
    family = media_type.partition("/")[0]
    return any(pattern in ("*/*", f"{family}/*", media_type) for pattern in patterns)


def served(media_type: str) -> str:
    """The type under which a browser gets it: nothing that it could run."""
    if ACTIVE in media_type or not media_type.startswith(HARMLESS):
        return OPAQUE
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def _is(media_type: str, types: Iterable[str]) -> bool:
    return any(
        media_type.startswith(each) if each.endswith((".", "-")) else media_type == each
        for each in types
    )


def _reads_as_text(head: bytes) -> bool:
    # Old encodings use bytes above 127, but no text has NUL or many control characters.
    return head.startswith(MARKS) or not any(byte < 9 or 13 < byte < 27 for byte in head)


def _is_text(media_type: str) -> bool:
    return media_type.startswith(TEXTUAL) or media_type.endswith(("+json", "+xml"))
