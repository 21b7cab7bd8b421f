"""Events as the rows of a binary COPY, built in one buffer: twice as fast as ``write_row``."""

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from agui_host.protocol.encoding import Record

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_JOURNAL = struct.Struct(">hi16si")  # five columns, of them the uuid, and the length of an int4
_EPOCH_2000 = 946_684_800


class Batch(Protocol):
    """Consecutive events of one journal."""

    journal_id: UUID
    first: int
    records: Sequence[Record]


def event_rows(batches: Iterable[Batch]) -> bytes:
    """The rows of these batches: journal, ``seq``, time, type, payload."""
    buffer = bytearray(_HEADER)
    for batch in batches:
        journal = _JOURNAL.pack(5, 16, batch.journal_id.bytes, 4)
        for seq, (type_, payload, moment) in enumerate(batch.records, batch.first):
            row, name = _row_of(type_)
            at = int((moment - _EPOCH_2000) * 1_000_000)
            buffer += row(journal, seq, 8, at, len(name), name, len(payload))
            buffer += payload
    buffer += _TRAILER
    return bytes(buffer)


@lru_cache(100)
def _row_of(type_: str) -> tuple[Callable[..., bytes], bytes]:
    """What packs the rest of a row of this type, up to its payload, and the type's name."""
    name = type_.encode()
    return struct.Struct(f">26siiqi{len(name)}si").pack, name
