"""Messages that people send to active runs: stored, delivered, read or carried to the next run."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from agui_host.backends import bell
from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from agui_host.protocol.strict_json import dumps
from agui_host.teams.actors import Actor
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import Team
from events.journal import Purged
from events.writer.lease import Also
from runs.models import ENDED, Run, RunMessage

TOPIC = "run.messages"
"""The topic of the bell at which workers look for messages to their runs."""
MOST_UNREAD = 1000
"""Messages to one run that its agent has not read."""
MOST_UNREAD_BYTES = 1_000_000
"""Their text in UTF-8: the worker holds it in memory."""
MOST_CARRIED = 2 * 1024 * 1024
"""Bytes of JSON that unread messages add to the input of a run, which becomes one event."""
BATCH = 500
LONGEST_ID = 200
LONGEST = 100_000
SAY = "select outcome, number from agui_say(%s, %s, %s, %s, %s, %s, %s)"
UNREAD = """
select m.run_id, m.seq, m.message_id, m.content, m.author
  from unnest(%s::uuid[], %s::int4[]) as open(run, position)
 cross join lateral (
    select run_id, seq, message_id, content, author from runs_runmessage
     where run_id = open.run and seq > open.position
       and seen_seq is null and withdrawn_at is null
     order by seq limit %s) m
 order by m.run_id, m.seq
"""
SEEN = """
update runs_runmessage set seen_seq = seen.at, seen_at = now()
  from unnest(%s::int4[], %s::int4[]) as seen(number, at)
 where run_id = %s and seq = seen.number and seen_seq is null
"""


class RunEnded(Conflict):
    """This run has ended; start another run in its thread instead."""

    code = "run_ended"


class MessageDiffers(Conflict):
    """The run has another message with this id; give each message its own id."""

    code = "message_differs"


class Unread(NamedTuple):
    """A message that an agent has not read."""

    run: UUID
    seq: int
    id: str
    content: str
    author: str


def send(run: Run, message_id: str, content: str, sender: Actor) -> int:
    """Store a message to an active run; its number. The same message again has the same number.

    Raises NotFound, RunEnded, Purged, MessageDiffers, LimitReached.
    """
    limits = (MOST_UNREAD, MOST_UNREAD_BYTES)
    values = (run.pk, message_id, content, sender.label, sender.actor_id, *limits)
    with connection.cursor() as cursor:
        cursor.execute(SAY, values)
        outcome, number = cursor.fetchone()
    match outcome:
        case "stored":
            transaction.on_commit(_ring)
        case "known":
            pass
        case "gone":
            raise NotFound("There is no such run.")
        case "differs":
            raise MessageDiffers
        case "purged":
            raise Purged
        case "ended":
            raise RunEnded
        case "many":
            raise LimitReached.of("unread_messages", MOST_UNREAD, after=1)
        case "long":
            raise LimitReached.of("unread_bytes", MOST_UNREAD_BYTES, after=1)
    return int(number)


def _ring() -> None:
    bell.ring_now([(TOPIC, {"type": "topic", "topic": TOPIC})])


def unread(positions: Mapping[UUID, int]) -> list[Unread]:
    """Unread messages after these positions, at most ``BATCH`` for each run, in order."""
    with connection.cursor() as cursor:
        cursor.execute(UNREAD, [list(positions), list(positions.values()), BATCH])
        return [Unread(*row) for row in cursor.fetchall()]


def withdraw(team: Team, writers: Collection[str]) -> int:
    """Withdraw the messages of writers that no agent has read; their number."""
    rows = RunMessage.objects.for_team(team).filter(writer__in=writers)
    count = rows.filter(seen_seq=None, carried_by=None, withdrawn_at=None).update(
        withdrawn_at=clock.now()
    )
    if count:
        transaction.on_commit(_ring)
    return count


def withdrawn(runs: Collection[UUID]) -> list[tuple[UUID, int]]:
    """The withdrawn messages of these runs, as run and number."""
    rows = RunMessage.objects.already_found().filter(run__in=runs, withdrawn_at__isnull=False)
    return list(rows.values_list("run_id", "seq"))


def settled(waiting: Mapping[UUID, Collection[int]]) -> list[RunMessage]:
    """Those of the messages that an agent has read, or that none will read in this run."""
    rows = RunMessage.objects.already_found().filter(run__in=waiting)
    is_over = Q(seen_seq__isnull=False) | Q(withdrawn_at__isnull=False) | Q(run__status__in=ENDED)
    over = rows.filter(is_over, seq__in={seq for seqs in waiting.values() for seq in seqs})
    return [row for row in over.order_by("run_id", "seq") if row.seq in waiting[row.run_id]]


def seen_topic(run_id: UUID) -> str:
    """The topic of the bell at which the senders of a run's messages wait."""
    return f"run.messages.seen.{run_id}"


def note_seen(
    run_id: UUID, places: Mapping[int, int], ring: Callable[[], object] | None = None
) -> Also:
    """Note for each number the event with which the agent has read the message.

    ``ring`` is called after the commit.
    """

    def note() -> None:
        with connection.cursor() as cursor:
            cursor.execute(SEEN, [list(places), list(places.values()), run_id])
        if ring is not None:
            transaction.on_commit(ring)

    return note


def places_of(
    pending: Iterable[tuple[str, int]], records: Sequence[Record], first: int
) -> dict[int, int]:
    """Where messages begin among ``records``: the event's number by the message's.

    ``pending`` are ids and numbers of messages. A message whose id the thread has had already got
    another one on its way into the log: ``id~runId`` (``agui_host/protocol/intake/reused_ids.py``).
    A remote host that is asked again for its run sends the messages it has read in a snapshot.
    """
    left, places = list(pending), {}
    for seq, record in enumerate(records, first):
        for name in _users_messages(record) if left else ():
            entries = [entry for entry in left if name == entry[0]]
            entries += [entry for entry in left if name.startswith(f"{entry[0]}~")]
            if entries:
                places[entries[0][1]] = seq
                left.remove(entries[0])
    return places


def _users_messages(record: Record) -> list[str]:
    """The ids of the users' messages that an event brings."""
    if record.type == "TEXT_MESSAGE_START":
        event = patient_json.loads(record.payload)
        return [event["messageId"]] if event.get("role") == "user" else []
    if record.type == "MESSAGES_SNAPSHOT":
        messages = patient_json.loads(record.payload)["messages"]
        return [message["id"] for message in messages if message["role"] == "user"]
    return []


def carry(run: Run) -> list[dict[str, Any]]:
    """The messages that no agent of the thread has read, for the input of this next run of it.

    Those beyond ``MOST_CARRIED`` wait for the run after it. Call it in the transaction of the
    claim; a claim that is tried again gets the same messages.
    """
    rows = unread_before(run.thread_id, run.pk)
    carried: dict[UUID, dict[str, Any]] = {}
    left = MOST_CARRIED
    for row in rows.order_by("run_id", "seq").iterator():
        message = {"id": row.message_id, "role": "user", "content": row.content}
        if (left := left - len(dumps(message).encode())) < 0:
            break
        carried[row.pk] = message
    if carried:
        RunMessage.objects.already_found().filter(pk__in=carried).update(carried_by=run)
    return list(carried.values())


def unread_before(thread: Any, run: Any) -> QuerySet[RunMessage]:
    """The messages that this run of the thread is to carry; both can be columns of a query."""
    rows = RunMessage.objects.of_one_thread().filter(
        Q(carried_by=None) | Q(carried_by=run),
        run__thread=thread,
        run__status__in=ENDED,
        seen_seq=None,
        withdrawn_at=None,
    )
    return rows.exclude(run=run)


def send_again(lost: Run, repeated: Run) -> None:
    """Give a new attempt all messages of the lost one, whose answers leave the thread's history."""
    rows = list(RunMessage.objects.filter(run=lost, withdrawn_at=None).order_by("seq"))
    copies = [
        RunMessage(
            team_id=row.team_id,
            run=repeated,
            seq=row.seq,
            message_id=row.message_id,
            content=row.content,
            author=row.author,
            writer=row.writer,
        )
        for row in rows
    ]
    if copies:
        RunMessage.objects.bulk_create(copies)
        RunMessage.objects.filter(run=lost, seen_seq=None, withdrawn_at=None).update(
            carried_by=repeated
        )
