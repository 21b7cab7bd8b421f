"""The state of a hand-over: web process, worker, database, and the messages between them."""

from dataclasses import dataclass
from typing import NamedTuple

HERE = ("got", "ready", "asking", "begun")
"""Phases of a run that occupies a place of the worker."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The design, one decision a field; a planted defect changes one of them.

    ``begin``: "commit" (the worker begins an agent once RUN_STARTED is committed), "go" (once the
    web process says so) or "hand" (at once).
    """

    begin: str = "commit"
    withdrawal_is_fenced: bool = True
    withdraws_after_go: bool = False
    sweep_raises: bool = True
    sweep_spares_begun: bool = True
    refuses_known: bool = True
    start_locks_worker: bool = True
    burial_raises: bool = True
    burial_puts_back: bool = True
    credit_comes_back: bool = False
    full_worker_refuses: bool = True


@dataclass(frozen=True, slots=True)
class Size:
    """How many runs and places there are, and how often the rarer events occur."""

    runs: int = 1
    places: int = 1
    duplicates: int = 1
    breaks: int = 1
    takes: int = 1
    early_sweeps: int = 1
    lost_answers: int = 1


class Run(NamedTuple):
    """One run, as each side knows it.

    ``row`` is its row: "" (none), "claimed" (for the worker), "due", "done", "lost". ``memory`` is
    the worker's: a phase, and the generation of its claim. ``asks`` are statements on their way
    to the database that store RUN_STARTED, by generation; ``answers`` theirs on the way back.
    """

    web: str = "new"
    claims: bool = False
    locks: bool = False
    credit: int = -1
    withdrawal: bool = False
    row: str = ""
    generation: int = 0
    head: int = 0
    hands: int = 0
    old_hands: int = 0
    taken: bool = False
    go: bool = False
    memory: tuple[str, int] = ("", 0)
    asks: tuple[int, ...] = ()
    answers: tuple[tuple[int, bool], ...] = ()
    begun: int = 0


class State(NamedTuple):
    """All of it. ``granted`` is the worker's count of credits, ``credits`` the web process's.

    ``sweep`` is a statement of the worker on its way: the runs that are executed here, and those
    that were. ``burial`` holds the runs that it still ends.
    """

    runs: tuple[Run, ...]
    web: bool = True
    worker: bool = True
    registered: bool = True
    burial: tuple[int, ...] | None = None
    buries: str = ""
    up: bool = True
    epoch: int = 0
    granted: int = 0
    grants: int = 0
    credits: int = 0
    sweep: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    duplicates: int = 0
    breaks: int = 0
    takes: int = 0
    early_sweeps: int = 0
    lost_answers: int = 0

    def with_run(self, number: int, run: Run) -> "State":
        """The same with another state of one run."""
        return self._replace(runs=(*self.runs[:number], run, *self.runs[number + 1 :]))

    @property
    def here(self) -> tuple[int, ...]:
        """The runs that occupy a place of the worker."""
        return tuple(n for n, run in enumerate(self.runs) if run.memory[0] in HERE)


class Step(NamedTuple):
    """One thing that can happen next. ``fair``: it does happen, sooner or later."""

    name: str
    fair: bool
    state: State


def first(size: Size) -> State:
    """Before anything has happened."""
    return State(
        (Run(),) * size.runs,
        duplicates=size.duplicates,
        breaks=size.breaks,
        takes=size.takes,
        early_sweeps=size.early_sweeps,
        lost_answers=size.lost_answers,
    )


def without_past(state: State) -> State:
    """The same without facts that nothing depends on any more."""
    runs = state.runs
    if not state.worker:
        # No budget is left for a process that does nothing, and nobody reads what it was told.
        runs = tuple(run._replace(hands=0, old_hands=0, go=False, answers=()) for run in runs)
        state = state._replace(duplicates=0, takes=0, early_sweeps=0, lost_answers=0)
    if not (state.worker and state.web):
        state = state._replace(up=True, breaks=0, granted=0, grants=0, credits=0)
    if not state.web:
        runs = tuple(run._replace(taken=False, credit=-1) for run in runs)
    if all(run.web not in ("new", "writing") for run in runs):
        runs = tuple(run._replace(credit=-1) for run in runs)
        state = state._replace(epoch=0)
    return state._replace(runs=runs)


def wrong(state: State, size: Size) -> str:
    """The promise that a state breaks; empty if none."""
    if any(run.begun > 1 for run in state.runs):
        return "a run is begun twice"
    if len(state.here) > size.places:
        return "a worker has more runs than places"
    if state.up and state.worker and state.web:
        starting = sum(run.web == "writing" and run.credit == state.epoch for run in state.runs)
        hands = sum(run.hands for run in state.runs)
        duplicates = size.duplicates - state.duplicates
        if state.credits + state.grants + starting + hands > state.granted + duplicates:
            return "a credit is counted twice"
    return ""


def forgotten(state: State) -> bool:
    """Whether a run waits for ever in a state in which nothing happens by itself any more."""
    return any(run.row in ("claimed", "due") for run in state.runs)
