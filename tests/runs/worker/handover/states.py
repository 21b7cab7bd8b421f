"""The state of a hand-over: web process, link, worker, database, and the messages between them."""

from dataclasses import dataclass
from typing import NamedTuple

ACTIVE = ("claimed", "due")
"""The rows of runs that a worker has, or can take."""
HERE = ("reading", "running")
"""What the worker does with a run that occupies one of its places."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The design, one decision a field; a planted defect changes one of them.

    ``lives``: when the worker compares the age of its heartbeat: right before it begins a run that
    was handed to it ("beginning"), when the hand arrives ("arrival"), or not at all ("").
    """

    holds_hands: bool = True
    remembers: bool = True
    forgets_with_links: bool = True
    lost_search_cuts: bool = True
    lost_search_refuses: bool = True
    searches_are_numbered: bool = True
    searches_between_takes: bool = True
    searches_by_time: bool = True
    searches_for_dropped: bool = True
    cut_links_are_not_read: bool = True
    start_locks_worker: bool = True
    hands_if_answered: bool = True
    credit_comes_back: bool = True
    handed_credit_comes_back: bool = False
    cuts_before_leaving: bool = True
    drops_if_stopping: bool = True
    drops_if_full: bool = True
    take_reserves: bool = True
    burial_deletes_first: bool = True
    start_looks_at_thread: bool = True
    thread_is_locked: bool = True
    lives: str = "beginning"


@dataclass(frozen=True, slots=True)
class Size:
    """How many runs, places and credits there are, and how often the rarer events occur.

    ``in_thread``: the runs are of one thread.
    """

    runs: int = 1
    in_thread: bool = False
    places: int = 1
    credits: int = 1
    deaths: bool = True
    breaks: int = 0
    takes: int = 0
    early_searches: int = 0
    lost_answers: int = 0
    lapses: int = 0
    forgets: int = 0
    stops: bool = False


class Run(NamedTuple):
    """One run, as each side knows it.

    ``start`` is the statement that makes it: "sent", "claims" (in its transaction), or its answer
    on the way: "claimed", "due", "none". ``credit`` is "current" while the start has one of the
    link that is up, "old" if that link is gone. ``row``: "" (none), "waits" (for its thread),
    "claimed" (for the worker), "due", "done", "lost". ``hand`` is its line: on the "link", on an
    "old" link whose end the worker has not read, or "late" (of a link that the worker has cut).
    ``memory`` is the worker's: "held", "reading", "running" or "over", and the generation of its
    claim.
    """

    web: str = "new"
    start: str = ""
    credit: str = ""
    row: str = ""
    generation: int = 0
    hand: str = ""
    memory: str = ""
    claim: int = 0
    put_back: bool = False
    begun: int = 0
    wrong: str = ""


class Search(NamedTuple):
    """A statement that puts runs back: those that are not ``here``. ``back`` is its answer."""

    here: tuple[int, ...]
    over: tuple[int, ...]
    back: tuple[int, ...] | None = None


class State(NamedTuple):
    """All of it.

    ``link`` is "down", "up" or "cut" (by the worker; the web process has not noticed). ``eof``: a
    link has ended whose end the worker has not read. ``take`` is the statement's phase, and the
    run with its generation in the answer. ``stray`` and ``stray_take`` are statements whose answer
    nobody waits for, but which can still take effect. ``leave``: "", "sent", "done".
    """

    runs: tuple[Run, ...]
    in_thread: bool = False
    web: bool = True
    worker: bool = True
    stopping: bool = False
    leave: str = ""
    lapsed: bool = False
    registered: bool = True
    burial: tuple[int, ...] = ()
    link: str = "down"
    eof: bool = False
    credits: int = 0
    grants: int = 0
    search: Search | None = None
    stray: Search | None = None
    is_due: bool = False
    unsure: bool = False
    take: tuple[str, int, int] | None = None
    stray_take: bool = False
    fault: bool = False
    deaths: bool = True
    breaks: int = 0
    takes: int = 0
    early_searches: int = 0
    lost_answers: int = 0
    lapses: int = 0
    forgets: int = 0
    stops: bool = False

    def has_other(self, number: int) -> bool:
        """Whether another run of this one's thread is active in the database."""
        others = (*self.runs[:number], *self.runs[number + 1 :])
        return self.in_thread and any(run.row in ACTIVE for run in others)

    def with_run(self, number: int, run: Run) -> "State":
        """The same with another state of one run."""
        return self._replace(runs=(*self.runs[:number], run, *self.runs[number + 1 :]))

    @property
    def here(self) -> tuple[int, ...]:
        """The runs that occupy a place of the worker."""
        return tuple(n for n, run in enumerate(self.runs) if run.memory in HERE)


class Step(NamedTuple):
    """One thing that can happen next. ``fair``: it does happen, sooner or later."""

    name: str
    fair: bool
    state: State


def first(size: Size) -> State:
    """Before anything has happened."""
    return State(
        (Run(),) * size.runs,
        in_thread=size.in_thread,
        deaths=size.deaths,
        breaks=size.breaks,
        takes=size.takes,
        early_searches=size.early_searches,
        lost_answers=size.lost_answers,
        lapses=size.lapses,
        forgets=size.forgets,
        stops=size.stops,
    )


def cut(state: State, *, forgets: bool = True) -> State:
    """The worker closes all links: nothing of them is read any more, so no late hand can come."""
    runs = tuple(
        run._replace(
            hand="late" if run.hand in ("link", "old") else run.hand,
            put_back=run.put_back and not forgets,
        )
        for run in state.runs
    )
    return state._replace(runs=runs, link="cut" if state.link == "up" else state.link, eof=False)


def disconnected(state: State) -> State:
    """The web process has no link any more, and starts under way have none of its credits."""
    runs = tuple(
        run._replace(credit="old" if run.credit == "current" else run.credit) for run in state.runs
    )
    return state._replace(runs=runs, link="down", credits=0, grants=0)


def without_past(state: State) -> State:
    """The same without facts that nothing depends on any more."""
    runs = state.runs
    if not state.worker:
        # No budget is left for a process that does nothing, and nobody reads what it was told.
        runs = tuple(
            run._replace(hand="", memory="", claim=0, put_back=False, credit="") for run in runs
        )
        state = state._replace(
            runs=runs, stopping=False, lapsed=False, link="down", eof=False, credits=0, grants=0,
            search=None, is_due=False, unsure=False, take=None, breaks=0, takes=0,
            early_searches=0, lapses=0, forgets=0, stops=False,
        )  # fmt: skip
    if not state.web:
        runs = tuple(run._replace(web="over", credit="") for run in runs)
        state = state._replace(breaks=0, credits=0, grants=0)
    if not state.registered:
        state = state._replace(stray=None, stray_take=False, leave=state.leave and "done")
    used = any(run.web != "over" or run.start for run in runs)
    if not used and (state.credits or state.grants or state.breaks):
        # Nobody uses a link any more.
        state = state._replace(credits=0, grants=0, breaks=0)
    if any(run.credit and run.web == "over" for run in runs):
        runs = tuple(run._replace(credit="") if run.web == "over" else run for run in runs)
    return state if runs is state.runs else state._replace(runs=runs)  # most have no such fact


def broken_promise(state: State, size: Size) -> str:
    """The promise that a state breaks; empty if none."""
    for run in state.runs:
        if run.begun > 1:
            return "a run is begun twice"
        if run.wrong:
            return run.wrong
        if run.row == "lost" and not state.fault:
            return "a run is told lost though nothing has failed"
    if size.in_thread and sum(run.row in ACTIVE for run in state.runs) > 1:
        return "two runs of a thread are active"
    if len(state.here) > size.places:
        return "a worker has more runs than places"
    if state.link == "up" and any(run.web != "over" or run.start for run in state.runs):
        used = sum(run.credit == "current" or run.hand == "link" for run in state.runs)
        count = state.credits + state.grants + used
        if count != size.credits:
            more = count > size.credits
            return "a credit is counted twice" if more else "a credit is lost"
    return ""


def forgotten(state: State) -> bool:
    """Whether a run waits for ever in a state in which nothing happens by itself any more."""
    return any(run.row in ("claimed", "due", "waits") for run in state.runs)
