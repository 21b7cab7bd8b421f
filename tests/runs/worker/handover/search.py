"""Visits every state that can be reached, and looks for broken promises."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from tests.runs.worker.handover import database, web, worker
from tests.runs.worker.handover.states import (
    Rules,
    Size,
    State,
    Step,
    broken_promise,
    first,
    forgotten,
    without_past,
)


@dataclass(slots=True)
class Result:
    """What a search met. ``broken`` is the first broken promise, ``path`` leads to it.

    ``ends`` counts the states in which nothing happens by itself, by the outcome of the first run.
    """

    states: int = 0
    steps: int = 0
    broken: str = ""
    path: list[str] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)


def steps(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    """Everything that can happen next."""
    for step in chain(
        web.steps(state, rules, size),
        worker.steps(state, rules, size),
        worker.answered(state, rules, size),
        database.steps(state, rules),
    ):
        yield Step(step.name, step.fair, without_past(step.state))


def explore(rules: Rules = Rules(), size: Size = Size()) -> Result:  # noqa: B008  frozen
    """Visit all states, breadth first, up to the first broken promise."""
    origin = first(size)
    came_from: dict[State, tuple[State, str] | None] = {origin: None}
    fair: dict[State, list[State]] = {}
    queue, result = [origin], Result()
    for state in queue:  # grows meanwhile
        result.states += 1
        after: list[State] = []
        for step in steps(state, rules, size):
            result.steps += 1
            if step.fair:
                after.append(step.state)
            if step.state not in came_from:
                came_from[step.state] = (state, step.name)
                queue.append(step.state)
        fair[state] = after
        broken = broken_promise(state, size)
        if not after:
            outcome = _outcome(state)
            result.ends[outcome] = result.ends.get(outcome, 0) + 1
            if not broken and forgotten(state):
                broken = "a run is forgotten"
        if broken:
            result.broken, result.path = broken, _path(came_from, state)
            return result
    if loop := _loop(fair):
        result.broken, result.path = "something repeats for ever", _path(came_from, loop)
    return result


def _outcome(state: State) -> str:
    run = state.runs[0]
    return f"{run.row or 'not started'}, begun {run.begun} times"


def _path(came_from: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    path = []
    while (before := came_from[state]) is not None:
        state = before[0]
        path.append(before[1])
    return path[::-1]


def _loop(fair: dict[State, list[State]]) -> State | None:
    """A state from which what must happen can go round for ever; None if all of it ends."""
    before: dict[State, list[State]] = {}
    left = {state: len(after) for state, after in fair.items()}
    for state, after in fair.items():
        for each in after:
            before.setdefault(each, []).append(state)
    ends = [state for state, count in left.items() if count == 0]
    for state in ends:
        for each in before.get(state, ()):
            left[each] -= 1
            if left[each] == 0:
                ends.append(each)
    return next((state for state, count in left.items() if count), None)
