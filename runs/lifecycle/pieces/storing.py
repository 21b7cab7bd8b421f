"""The one place that stores a text in pieces. The database puts it together (``agui_whole``).

A stored text of pieces begins with ``MARK``, which no JSON text contains unescaped. Then follow,
each after a mark, the bytes of the whole text, and in turns the text between pieces and the id of a
piece. Any other text is stored as it is.

A piece that a text is about to refer to is locked until that text is committed, so that
``agui_drop_pieces``, which locks a thread's pieces before it looks, sees the reference.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from runs.lifecycle.pieces import cutting
from runs.lifecycle.pieces.cutting import Part

MARK = "\x01"
SHORT = 4_096
"""Characters below which a text is stored whole, without any further statement."""
TRIES = 3
FIND = """
select digest, id from runs_piece
 where thread_id = %s and digest = any (%s::bytea[]) order by id for key share
"""
ADD = """
insert into runs_piece (team_id, thread_id, digest, body)
select thread.team_id, thread.id, absent.*
  from runs_thread thread, unnest(%s::bytea[], %s::text[]) absent
 where thread.id = %s
on conflict do nothing returning digest, id
"""


def input_of(thread: UUID, text: str, body: Mapping[str, Any]) -> str:
    """What to store in place of an input, the text of ``body``; in the caller's transaction."""
    return text if len(text) < SHORT else _stored(thread, text, cutting.of_input(text, body))


def fold_of(thread: UUID, text: str) -> str:
    """The same for a thread's fold."""
    return text if len(text) < SHORT else _stored(thread, text, cutting.of_fold(text))


def drop_unused(threads: Iterable[UUID]) -> int:
    """Delete the pieces of these threads to which no text refers; returns how many.

    Call it after the change that left texts behind, with the threads locked.
    """
    with connection.cursor() as cursor:
        cursor.execute("select agui_drop_pieces(%s::uuid[])", [list(threads)])
        number: int = cursor.fetchone()[0]
        return number


def _stored(thread: UUID, text: str, parts: list[Part]) -> str:
    digests = [_digest(part.text) if part.is_piece else b"" for part in parts]
    bodies = {digest: part.text for digest, part in zip(digests, parts, strict=True) if digest}
    if not bodies or MARK in text:
        return text
    ids = _ids(thread, bodies)
    if len(ids) < len(bodies):
        return (
            text  # The thread is being erased, or its pieces come and go: whole is right as well.
        )
    words, after_piece = [f"{MARK}{len(text.encode())}"], True
    for digest, part in zip(digests, parts, strict=True):
        if digest:
            # Between two marks is a text, then an id: an empty text where two pieces meet.
            words += [""] if after_piece else []
            words.append(str(ids[digest]))
        else:
            words.append(part.text)
        after_piece = bool(digest)
    return MARK.join(words)


def _ids(thread: UUID, bodies: dict[bytes, str]) -> dict[bytes, int]:
    """The ids of these pieces, of which only the new ones are sent.

    Another transaction may insert a piece, or delete it, between the two statements.
    """
    ids: dict[bytes, int] = {}
    with connection.cursor() as cursor:
        for _ in range(TRIES):
            cursor.execute(FIND, [thread, sorted(bodies.keys() - ids.keys())])
            ids |= _pairs(cursor.fetchall())
            if absent := sorted(bodies.keys() - ids.keys()):
                cursor.execute(ADD, [absent, [bodies[digest] for digest in absent], thread])
                ids |= _pairs(cursor.fetchall())
            if len(ids) == len(bodies):
                break
    return ids


def _pairs(rows: Sequence[tuple[Any, int]]) -> dict[bytes, int]:
    return {bytes(digest): number for digest, number in rows}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
