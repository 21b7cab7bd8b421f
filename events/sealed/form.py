"""The form of an object: blocks, each a zstd frame of lines, which ``zstdcat`` can print.

A block contains sections, consecutive events of one log: a line about them, then one JSON text per
event. Short logs share a block, because together they take half of the room that they take alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, groupby, pairwise
from json import loads
from uuid import UUID

import zstandard

from agui_host.protocol.strict_json import dumps

BLOCK_BYTES = 256 * 1024
"""Size of a block before its compression, but for its last event: a reader unpacks all of it."""
LEVEL = 12
MOST_BYTES = 256 * 1024 * 1024


class Unfit(ValueError):
    """This cannot be written as a section, or was not written by this module."""


@dataclass(slots=True)
class Section:
    """Consecutive events of a log from ``first`` on; ``ats`` are microseconds since 1970."""

    journal_id: UUID
    first: int
    types: list[str] = field(default_factory=list)
    ats: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The ``seq`` of the last event."""
        return self.first + len(self.payloads) - 1

    def add(self, at: int, type_: str, payload: bytes) -> None:
        """Append the next event. Raises Unfit for a payload that is no line."""
        if b"\n" in payload:
            raise Unfit("A payload contains a line break.")
        self.types.append(type_)
        self.ats.append(at)
        self.payloads.append(payload)


class Digest:
    """A log's content, whether it is in rows or in sections."""

    def __init__(self) -> None:
        self.events = 0
        self._hash = hashlib.sha256()

    def add(self, section: Section) -> None:
        """Continue with the next section of the log. Raises Unfit if it is another one."""
        if section.first != self.events + 1:
            raise Unfit("An event is missing.")
        for at, type_, payload in zip(section.ats, section.types, section.payloads, strict=True):
            self._hash.update(b"%d %b %b\n" % (at, type_.encode(), payload))
        self.events = section.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digest) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> tuple[int, bytes]:
        return self.events, self._hash.digest()


def pack(sections: Sequence[Section]) -> bytes:
    """A block of these sections."""
    lines = chain.from_iterable((_about(section), *section.payloads) for section in sections)
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(b"\n".join(lines))


def unpack(block: bytes) -> tuple[list[Section], int]:
    """The sections of a block, and their bytes. Raises Unfit if it is damaged."""
    try:
        if zstandard.frame_content_size(block) > MOST_BYTES:
            raise Unfit("A block is too large.")
        text = zstandard.ZstdDecompressor().decompress(block)
        lines = text.split(b"\n")
        sections, at = list[Section](), 0
        while at < len(lines):
            section, number = _section(lines[at])
            section.payloads = lines[at + 1 : at + 1 + number]
            if len(section.payloads) != number:
                raise Unfit("A block ends too early.")
            sections.append(section)
            at += 1 + number
    except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
        raise Unfit(f"A block is damaged ({error}).") from error
    return sections, len(text)


def _about(section: Section) -> bytes:
    steps = [after - before for before, after in pairwise(section.ats)]
    about = {
        "journal": str(section.journal_id),
        "first": section.first,
        "at": [*section.ats[:1], *steps],
        "types": [[type_, len(list(group))] for type_, group in groupby(section.types)],
    }
    return dumps(about).encode()


def _section(line: bytes) -> tuple[Section, int]:
    about = loads(line)
    ats = list(accumulate(about["at"]))
    types = [type_ for type_, number in about["types"] for _ in range(number)]
    if len(ats) != len(types):
        raise Unfit("A section is damaged.")
    return Section(UUID(about["journal"]), about["first"], types, ats), len(ats)
