"""The history of a thread's ended runs, and how a new input joins it. The host is the authority.

The fold of a thread is stored, so that history costs the same for 10 runs or 10,000. It is updated
when it is needed (a claim, a hydration), not while events are appended.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from agui_host.protocol import patient_json
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.input import healing, legacy_answer
from agui_host.protocol.questions import delivery
from agui_host.protocol.sizes import memory_of
from events import checkpoints, journal
from events.models import Checkpoint
from runs.lifecycle.pieces import storing
from runs.models import ENDED, Run, Thread, ThreadHistory

NOT_SENT = frozenset({"activity", "reasoning"})
"""Roles that clients may leave out of an input."""
OURS = frozenset({"assistant", "reasoning", "activity"})
"""Roles that only a run may add to a thread that has a history."""
MOST_TURNS = 200
"""How many runs are searched for the authors of messages that a regenerate would leave behind."""

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Merged:
    """An input joined to its thread: the agent's messages, and what the log echoes of them.

    ``superseded``: the input leaves stored messages behind (a regenerate).
    """

    messages: list[Wire]
    fresh: list[Wire]
    superseded: bool


class Past(NamedTuple):
    """The fold of a thread's ended runs, and about how many bytes of memory it takes."""

    fold: Fold
    memory: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """The effective input of a run, and the input that RUN_STARTED echoes: only what is new.

    ``history``: all messages whose ids readers may hold, including superseded ones. ``repairs``:
    what was healed in the input, and how often. ``memory``: about how many bytes all of it takes.
    ``superseded``: it leaves stored messages behind.
    """

    input: Wire
    echo: Wire
    history: list[Wire]
    memory: int
    repairs: Mapping[str, int] = field(default_factory=dict)
    superseded: bool = False


def current(thread_id: UUID, thread: Thread | None = None) -> Fold:
    """The fold of all runs of a thread up to the first that has not ended.

    ``thread``: its row, if it was just read together with its history. Runs are folded in the order
    of their ids, which is the order of the thread's lock: a queued run that was cancelled may end
    before its predecessor, and is then folded after it.
    """
    return _current(thread_id, thread)[0]


def measured(thread_id: UUID, thread: Thread | None = None) -> Past:
    """``current`` with the memory that it takes, estimated from the text that is stored."""
    fold, text = _current(thread_id, thread)
    return Past(fold, memory_of(text))


def _current(thread_id: UUID, thread: Thread | None) -> tuple[Fold, str]:
    """``current`` and its text; "" if no run of the thread has ended."""
    if thread is None:
        stored = ThreadHistory.objects.filter(thread_id=thread_id).first()
    else:
        stored = getattr(thread, "history", None)
    text = stored.fold if stored else ""
    fold, through = (Fold.load(text), stored.through) if stored else (Fold(), None)
    newer = Run.objects.of_one_thread().filter(thread_id=thread_id).order_by("journal_id")
    if through is not None:
        newer = newer.filter(journal_id__gt=through)
    ended = []
    for run_id, status in newer.values_list("journal_id", "status"):
        if status not in ENDED:
            break
        ended.append(run_id)
    if ended:
        # Checkpoints of a run include the history before it, which is what is stored here.
        fold = checkpoints.whole(ended[0], fold)
        for run_id in ended[1:]:
            feed(fold, run_id)
        text = fold.dump()
        _store(thread_id, text, before=through, ended=ended)
    return fold, text


def emptied(last_runs: Mapping[UUID, UUID]) -> None:
    """Store an empty conversation for these threads, up to the last run of each.

    The caller has locked the threads, of which every run has ended.
    """
    empty = Fold().dump()
    ThreadHistory.objects.bulk_create(
        [
            ThreadHistory(thread_id=thread_id, fold=empty, through=run_id)
            for thread_id, run_id in sorted(last_runs.items())
        ],
        update_conflicts=True,
        unique_fields=["thread"],
        update_fields=["fold", "through"],
    )


def feed(fold: Fold, run_id: UUID) -> None:
    """Fold a whole stored log, page by page."""
    for payload in journal.payloads(run_id):
        fold.feed(patient_json.loads(payload))


def prepare(run: Run, past: Past, carried: Iterable[Wire] = (), *, stores: bool = True) -> Prepared:
    """Join a claimed run's input to its thread; a regenerate is stored at once, if it ``stores``.

    ``carried``: messages that were sent to earlier runs and that no agent has read. They come
    before the input's own, unless the thread or the input has them already. One whose id another
    message has gets a new id, as an agent's would.
    """
    body, fold = patient_json.loads(run.input), past.fold
    stored = fold.messages
    keep = _number_to_keep(run, stored, body)
    merged = merge(stored, body["messages"], keep, edited(body))
    if merged.superseded and stores:
        rewrite(run.thread_id, fold, merged.messages[: len(merged.messages) - len(merged.fresh)])
    if carried:
        merged = _with_carried(merged, carried, run.run_id)
    state = body["state"] if body["state"] not in (None, {}) else fold.state
    visible = [message for message in merged.messages if message["role"] != "activity"]
    healed = healing.Healed(visible, {})
    if run.agent.heals_history and not run.agent.is_fed:  # that one is given no input
        healed = healing.heal(visible, _waiting(visible, fold, body))
    history = [*stored, *merged.fresh]
    return Prepared(
        input={**delivery.handed(body), "messages": healed.messages, "state": state},
        echo={**body, "messages": merged.fresh},
        history=history,
        memory=past.memory + memory_of(run.input) - _repeated(body["messages"], merged.fresh),
        repairs=healed.repairs,
        superseded=merged.superseded,
    )


def _repeated(incoming: list[Wire], fresh: list[Wire]) -> int:
    """The characters of messages that an input repeats and the run does not keep twice."""
    new = {id(message) for message in fresh}
    texts = (message.get("content") for message in incoming if id(message) not in new)
    return sum(len(text) for text in texts if isinstance(text, str))


def _with_carried(merged: Merged, carried: Iterable[Wire], run_id: str) -> Merged:
    by_id = {message["id"]: message for message in merged.messages}
    unread = []
    for message in carried:
        same = by_id.get(message["id"])
        if same is not None and same.get("content") == message["content"]:
            continue
        while message["id"] in by_id:
            message = {**message, "id": f"{message['id']}~{run_id}"}
        unread.append(message)
        by_id[message["id"]] = message
    stored = merged.messages[: len(merged.messages) - len(merged.fresh)]
    fresh = [*unread, *merged.fresh]
    return Merged([*stored, *fresh], fresh, merged.superseded)


def rewrite(thread_id: UUID, fold: Fold, messages: list[Wire]) -> None:
    """Store other messages in place of those of ``fold``, the current one of the thread.

    Call it where no run of the thread can end: with its lock, or as its one running run.
    """
    base = Fold(messages, fold.state)
    base.raised, base.questions = fold.raised, fold.questions
    with transaction.atomic():
        values = {"fold": storing.fold_of(thread_id, base.dump()), "rewritten_at": Now()}
        if not ThreadHistory.objects.filter(thread_id=thread_id).update(**values):
            # Through no run: all are newer.
            ThreadHistory.objects.create(thread_id=thread_id, through=UUID(int=0), **values)
        storing.drop_unused([thread_id])


def _waiting(messages: list[Wire], fold: Fold, body: Wire) -> set[str]:
    """The calls that the agent itself goes on with: it gets the answers to its questions."""
    if not legacy_answer.is_answering(body):
        return set()
    named = {str(question.get("toolCallId")) for question in fold.interrupts}
    return named | healing.last_calls(messages)


def echo(run: Run) -> Wire:
    """The echo for a run that ends before it was claimed, so that its user's words are kept."""
    body = patient_json.loads(run.input)
    merged = merge(current(run.thread_id).messages, body["messages"])
    return {**body, "messages": merged.fresh}


def merge(
    stored: list[Wire], incoming: list[Wire], keep: int | None = None, edited: str | None = None
) -> Merged:
    """Client messages joined to the stored ones by id.

    Known ids keep their stored form, whatever the client sends for them. Unknown messages are
    appended; those that only runs can make (``OURS``) are accepted from a client only in an empty
    thread. ``keep``: a regenerate, which leaves behind all but the first ``keep`` stored messages.
    ``edited``: the id of the message whose new form takes the place of what is left behind.
    """
    known = {message["id"] for message in stored} - {edited}
    fresh = [
        message
        for message in incoming
        if message["id"] not in known and not (stored and message["role"] in OURS)
    ]
    retained = stored[:keep]
    return Merged([*retained, *fresh], fresh, len(retained) < len(stored))


def edited(body: Wire) -> str | None:
    """The id of the user's message that an input brings in a new form: ``forwardedProps.edit``."""
    props = body.get("forwardedProps")
    name = props.get("edit") if isinstance(props, dict) else None
    users = [message["id"] for message in body["messages"] if message["role"] == "user"]
    return name if isinstance(name, str) and name in users else None


def regenerates(stored: list[Wire], body: Wire) -> tuple[int, bool] | None:
    """How many stored messages an input wants to keep, and whether it says so; None for all.

    It says so with ``forwardedProps.regenerate``: the messages after the last known one go, or if
    nothing was sent, those after the user's last one. Without it, an input that brings nothing new
    and ends with a stored message of the user asks for another answer to that: clients have no
    other way to say so. Any other input, such as a whole history from before a team mate's turn,
    leaves the messages it does not mention in place.
    """
    places = {message["id"]: index for index, message in enumerate(stored)}
    incoming = [message for message in body["messages"] if message["role"] not in NOT_SENT]
    props = body.get("forwardedProps")
    if (changed := edited(body)) in places:
        return places[changed], True
    if isinstance(props, dict) and props.get("regenerate") is True:
        roles = {place: stored[place]["role"] for place in places.values()}
        last = [places[message["id"]] for message in incoming if message["id"] in places]
        if not incoming:
            last = [place for place, role in roles.items() if role == "user"]
        return (max(last) + 1, True) if last else None
    brings = any(each["id"] not in places and each["role"] not in OURS for each in incoming)
    brings = brings or legacy_answer.is_answering(body)
    if not incoming or brings or incoming[-1]["id"] not in places:
        return None
    place = places[incoming[-1]["id"]]
    return (place + 1, False) if stored[place]["role"] == "user" else None


def _number_to_keep(run: Run, stored: list[Wire], body: Wire) -> int | None:
    """``regenerates``, but an input that does not say so never removes another person's turn.

    Such an input comes from a tab that was left open, and asks for the last answer that the tab
    has.
    """
    regeneration = regenerates(stored, body)
    if regeneration is None:
        return None
    keep, explicit = regeneration
    user_messages = {message["id"] for message in stored[keep:] if message["role"] == "user"}
    return keep if explicit or not _by_others(run, user_messages) else None


def _by_others(run: Run, message_ids: set[str]) -> bool:
    """Whether another principal's run brought one of these messages into the thread.

    A log echoes what its run brought, so we read as many logs as turns would be removed.
    """
    earlier = Run.objects.of_one_thread().filter(
        thread_id=run.thread_id, journal_id__lt=run.pk, purged_at=None
    )
    rows = earlier.order_by("-journal_id").values_list("journal_id", "started_by")
    for run_id, started_by in rows[:MOST_TURNS] if message_ids else ():
        first = journal.read_after(run_id, 0, 1).rows
        echoed = json.loads(first[0][2]).get("input", {}) if first else {}
        brought = message_ids & {message["id"] for message in echoed.get("messages", ())}
        if brought and started_by != run.started_by:
            return True
        message_ids = message_ids - brought
        if not message_ids:
            break
    return False


def _store(thread_id: UUID, text: str, *, before: UUID | None, ended: list[UUID]) -> None:
    """Store the text of a fold, unless another process has stored one at least as new.

    It ends with the runs ``ended``, which need no checkpoints: only live ones are joined midway.
    """
    with transaction.atomic():
        values = {"fold": storing.fold_of(thread_id, text), "through": ended[-1]}
        if before is None:
            ThreadHistory.objects.get_or_create(thread_id=thread_id, defaults=values)
        else:
            ThreadHistory.objects.filter(thread_id=thread_id, through=before).update(**values)
        Checkpoint.objects.filter(journal_id__in=ended).delete()


def first_and_last(run_id: UUID, head: int) -> tuple[Wire, Wire]:
    """The first and the last event of a log of ``head`` events."""
    first = journal.read_after(run_id, 0, 1).rows[0][2]
    last = journal.read_after(run_id, head - 1, 1).rows[0][2]
    return json.loads(first), json.loads(last)
