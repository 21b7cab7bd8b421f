"""Steps inside the database, and those of the reaper and of another worker, which never fails."""

from collections.abc import Iterator

from tests.runs.worker.handover.states import Rules, Run, Search, State, Step


def steps(state: State, rules: Rules) -> Iterator[Step]:
    """Everything that the database can do next."""
    for number, run in enumerate(state.runs):
        yield from _start(state, number, run, rules)
        if run.row == "waits" and not state.has_other(number):
            due = state.with_run(number, run._replace(row="due"))
            yield Step(f"run {number} is admitted", True, due)
        if run.row == "due":
            # Another worker takes and begins it, whatever its log says: one that has begun would
            # be begun a second time.
            yield Step(
                f"another worker executes run {number}", True,
                state.with_run(
                    number,
                    run._replace(row="done", generation=run.generation + 1, begun=run.begun + 1),
                ),
            )  # fmt: skip
    yield from _takes(state)
    if state.search is not None and state.search.back is None:
        after, back = _put_back(state, state.search)
        # A later search has a higher number, and each does nothing after a higher one.
        stray = None if rules.searches_are_numbered else state.stray
        done = after._replace(search=state.search._replace(back=back), stray=stray)
        yield Step(f"the search puts back {list(back)}", True, done)
    if state.stray is not None:
        yield Step("the lost search never arrives", True, state._replace(stray=None))
        after, back = _put_back(state, state.stray)
        yield Step(f"the lost search puts back {list(back)}", False, after._replace(stray=None))
    yield from _leave(state, rules)
    yield from _burial(state, rules)


def _start(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    if run.start not in ("sent", "claims"):
        return

    def step(name: str, after: Run, *, fair: bool = True) -> Step:
        waits = state.web and after.web == "sent"
        return Step(
            f"start {number} {name}", fair,
            state.with_run(number, after if waits else after._replace(start="")),
        )  # fmt: skip

    yield step("is rolled back", run._replace(start="none"), fair=False)
    if run.start == "claims":
        claimed = run._replace(start="claimed", row="claimed", generation=1)
        yield step("is committed, claimed", claimed)
    elif _is_locked_by_another(state, number, rules):
        return
    elif run.credit and state.registered and not (
        rules.start_looks_at_thread and state.has_other(number)
    ):  # fmt: skip
        claims = state.with_run(number, run._replace(start="claims"))
        yield Step(f"start {number} claims", True, claims)
    if run.start == "sent":
        if state.has_other(number):
            yield step("is committed, waits", run._replace(start="due", row="waits"))
            return
        # With a credit, too: the worker's queue can be another, or a run can be due before it.
        yield step("is committed, due", run._replace(start="due", row="due"),
                   fair=not (run.credit and state.registered))  # fmt: skip


def _is_locked_by_another(state: State, number: int, rules: Rules) -> bool:
    """Whether the transaction of another start has the lock of the thread."""
    others = (*state.runs[:number], *state.runs[number + 1 :])
    return (
        state.in_thread and rules.thread_is_locked and any(run.start == "claims" for run in others)
    )


def _takes(state: State) -> Iterator[Step]:
    taken = [(-1, 0, state)]
    for number, run in enumerate(state.runs):
        if run.row == "due" and state.registered:
            generation = run.generation + 1
            claimed = run._replace(row="claimed", generation=generation)
            taken.append((number, generation, state.with_run(number, claimed)))
    for number, generation, after in taken:
        if state.take is not None and state.take[0] == "sent":
            answer = after._replace(take=("told", number, generation))
            yield Step(
                f"the take gets {number}" if number >= 0 else "the take gets none", True, answer
            )
        if state.stray_take:
            name = f"gets {number}" if number >= 0 else "never arrives"
            yield Step(f"the lost take {name}", number < 0, after._replace(stray_take=False))


def _put_back(state: State, search: Search) -> tuple[State, tuple[int, ...]]:
    runs, back = [], []
    for number, run in enumerate(state.runs):
        after = run
        if run.row == "claimed" and number in search.over:
            after = run._replace(row="lost", generation=run.generation + 1)
        elif run.row == "claimed" and number not in search.here:
            after = run._replace(row="due")
            back.append(number)
        runs.append(after)
    return state._replace(runs=tuple(runs)), tuple(back)


def _is_locked(state: State, rules: Rules) -> bool:
    return rules.start_locks_worker and any(run.start == "claims" for run in state.runs)


def _leave(state: State, rules: Rules) -> Iterator[Step]:
    if state.leave != "sent" or _is_locked(state, rules):
        return
    over = tuple(n for n, run in enumerate(state.runs) if run.memory == "over")
    after, back = _put_back(state, Search((), over))
    done = after._replace(registered=False, leave="done" if state.worker else "")
    yield Step(f"the worker's registration ends, and {list(back)} are put back", True, done)


def _burial(state: State, rules: Rules) -> Iterator[Step]:
    gone = not state.worker and not state.leave
    if state.registered and (gone or state.lapsed):
        if not _is_locked(state, rules):
            # A dead worker is buried for certain, a silent one perhaps.
            after = state._replace(registered=False)
            yield Step("the reaper deletes the worker's registration", gone, after)
        claimed = tuple(n for n, run in enumerate(state.runs) if run.row == "claimed")
        if not rules.burial_deletes_first and claimed and not state.burial:
            yield Step("the reaper looks", False, state._replace(burial=claimed))
    for number, run in enumerate(state.runs):
        if run.row == "claimed" and (not state.registered or number in state.burial):
            rest = tuple(n for n in state.burial if n != number)
            lost = run._replace(row="lost", generation=run.generation + 1)
            after = state._replace(burial=rest).with_run(number, lost)
            yield Step(f"the reaper takes {number} over, and tells that it is lost", True, after)
