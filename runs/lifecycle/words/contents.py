"""What of a run can be searched: its names, what people and the agent said, and its outline.

Reading is bounded, however long the run: the first and the last of its events, of as many bytes.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from agui_host.protocol.fold.account import CORRECTION, SNAPSHOT, Account
from agui_host.protocol.fold.outline import FEEDS, Outline
from agui_host.protocol.fold.outline_kinds import ATTEMPT, MESSAGE, QUEUE, STATE
from agui_host.protocol.fold.outline_row import Row
from agui_host.protocol.part_kinds import TEXT
from agui_host.protocol.patient_json import loads
from events import outlines
from events.sealed import reading

MOST_EVENTS = 10_000
"""Of the beginning of a log, and again of its end."""
MOST_BYTES = 2_000_000
"""Of an input that is read, and of the events of the beginning and of the end of a log."""
SHORT_INPUT, SHORT_EVENTS, SHORT_BYTES = 50_000, 500, 50_000
"""A run of at most so many bytes of input, events and their bytes is read together with others."""
MOST_TEXT = 1_000_000
"""Characters of a run that are cut into words."""
REST = 1.0
"""Seconds of rest for each second of reading: live runs share the interpreter."""
# A purged run has none. An input of many bytes holds files, and is not read.
NAMES = """
select run.journal_id, agui_whole_size(run.input), journal.bytes, run.team_id,
       run.run_id, thread.thread_id, thread.title, run.error_message,
       case when agui_whole_size(run.input) <= %s then agui_whole(run.input) else '{}' end,
       journal.head, journal.closed_at is not null
  from runs_run run
  join runs_thread thread on thread.id = run.thread_id
  join events_journal journal on journal.id = run.journal_id
 where run.journal_id = any (%s) and run.purged_at is null
"""
_SILENT = frozenset({QUEUE, ATTEMPT})


class Contents(NamedTuple):
    """The ``texts`` of a run, the most important ones first. ``ended``: they stay as they are."""

    team: UUID
    texts: list[str]
    ended: bool


class _Row(NamedTuple):
    """``NAMES`` of a run."""

    id: UUID
    input_bytes: int
    log_bytes: int
    team: UUID
    names: tuple[str, ...]
    input: str
    head: int
    ended: bool

    @property
    def is_short(self) -> bool:
        return (
            self.input_bytes <= SHORT_INPUT
            and self.head <= SHORT_EVENTS
            and self.log_bytes <= SHORT_BYTES
        )


def read(run_id: UUID) -> Contents | None:
    """A run's texts; None if it was purged or erased."""
    rows = _rows([run_id], MOST_BYTES)
    return _contents(rows[run_id]) if rows else None


def read_many(run_ids: Sequence[UUID]) -> dict[UUID, Contents | Exception | None]:
    """``read`` of each; the short ones by two statements. A run that cannot be read is an error."""
    rows = _rows(run_ids, SHORT_INPUT)
    short = {key: row for key, row in rows.items() if row.is_short}
    logs = reading.short_logs({key: row.head for key, row in short.items() if row.ended}, FEEDS)
    texts: dict[UUID, Contents | Exception | None] = {}
    for run_id in run_ids:
        try:
            if run_id not in rows:
                texts[run_id] = None
            elif run_id in logs or (run_id in short and not rows[run_id].ended):
                texts[run_id] = _contents(rows[run_id], logs.get(run_id, []))
            else:
                texts[run_id] = read(run_id)
        except (OperationalError, InterfaceError):
            raise  # That is no fault of this run.
        except Exception as error:
            texts[run_id] = error
    return texts


def _rows(run_ids: Sequence[UUID], most_bytes: int) -> dict[UUID, _Row]:
    with connection.cursor() as cursor:
        cursor.execute(NAMES, [most_bytes, list(run_ids)])
        rows = cursor.fetchall()
    by_run: dict[UUID, _Row] = {}
    for key, input_bytes, log_bytes, team, *names, request, head, ended in rows:
        by_run[key] = _Row(key, input_bytes, log_bytes, team, tuple(names), request, head, ended)
    return by_run


def _contents(row: _Row, events: list[reading.Row] | None = None) -> Contents:
    """The texts of a run, of whose log all ``events`` are given, or are read step by step."""
    texts = [*row.names, *_said(_turn(_messages(loads(row.input))))]
    if row.ended:
        if events is None:
            texts += _logged(_long(row.id, row.head))
        else:
            texts += _logged((seq, loads(payload)) for seq, _, payload in events)
    return Contents(row.team, list(_within(texts)), row.ended)


def _within(texts: Iterable[str]) -> Iterator[str]:
    room = MOST_TEXT
    for text in texts:
        yield text[:room]
        room -= len(text)
        if room <= 0:
            break


# --- messages


def _messages(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = request.get("messages")
    return [each for each in messages if isinstance(each, dict)] if messages else []


def _turn(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last messages of a user, and all later ones: those before are of earlier runs."""
    first = len(messages)
    while first and messages[first - 1].get("role") != "user":
        first -= 1
    while first and messages[first - 1].get("role") == "user":
        first -= 1
    return messages[first:]


def _said(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        if message.get("role") not in ("user", "assistant"):
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


# --- the log


def _logged(events: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    """The names and beginnings of what happened, then the messages in full."""
    outline, spoken = Outline(), _Spoken()
    for seq, event in events:
        outline.feed(seq, event)
        spoken.feed(event)
    yield from (text for row in outline.rows for text in _row(row))
    yield from spoken.texts()


def _long(run_id: UUID, head: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The events of the log's beginning and of its end."""
    middle = max(MOST_EVENTS, head - MOST_EVENTS)
    for first, last in ((0, min(head, MOST_EVENTS)), (middle, head)):
        yield from _events(run_id, first, last)


def _events(run_id: UUID, after: int, last: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    left = MOST_BYTES
    while after < last and left > 0:
        began = time.monotonic()
        until = min(after + outlines.STEP_EVENTS, last)
        step = min(left, outlines.STEP_BYTES)
        rows = reading.rows(run_id, after, until, step, FEEDS)
        size = sum(len(payload.encode()) for _, _, payload in rows)
        left -= size
        for seq, _, payload in rows:
            yield seq, loads(payload)
        after = rows[-1][0] if size >= step else until
        if after < last:
            time.sleep(REST * (time.monotonic() - began))


def _row(row: Row) -> Iterator[str]:
    # Messages come in full; what each run has, or all rows of a kind, is no name.
    if row.kind == MESSAGE or row.kind in _SILENT:
        return
    if row.kind != STATE:
        yield row.name
    yield row.gist


class _Spoken:
    """The texts of a log's messages, which come in pieces."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}
        self._account = Account()

    def feed(self, event: Mapping[str, Any]) -> None:
        if event["type"] == SNAPSHOT:
            for made in self._account.restate(event):
                self._take(made)
            return
        self._account.take(event)
        self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        if event["type"] == TEXT.content:
            self._pieces.setdefault(event["messageId"], []).append(event["delta"])
        elif event["type"] == CORRECTION and event["kind"] == TEXT.start:
            self._pieces[event["id"]] = [event["content"] or ""]

    def texts(self) -> Iterator[str]:
        yield from map("".join, self._pieces.values())
