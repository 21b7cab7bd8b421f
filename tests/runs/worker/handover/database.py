"""Steps inside the database, and those of the reaper and of another worker, which never fails."""

from collections.abc import Iterator

from tests.runs.worker.handover.states import Rules, Run, State, Step


def steps(state: State, rules: Rules) -> Iterator[Step]:
    """Everything that the database can do next."""
    for number, run in enumerate(state.runs):
        yield from _statements(state, number, run, rules)
        if run.row == "due":
            # Another worker takes and begins it, whatever its log says: one that has begun would
            # be begun a second time.
            yield Step(
                f"another worker executes run {number}",
                True,
                state.with_run(
                    number,
                    run._replace(
                        row="done", generation=run.generation + 1, head=1, begun=run.begun + 1
                    ),
                ),
            )
    yield from _sweep(state, rules)
    yield from _burial(state, rules)


def _statements(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    if run.withdrawal:
        done = run._replace(withdrawal=False)
        if not rules.withdrawal_is_fenced:
            if run.row == "claimed":
                done = done._replace(row="due")
        elif run.row == "claimed" and run.generation == 1 and run.head == 0:
            done = done._replace(row="due", generation=2)
        if not state.web:
            yield Step(f"the withdrawal of {number} is lost", False,
                       state.with_run(number, run._replace(withdrawal=False)))  # fmt: skip
        after = state.with_run(number, done)
        if rules.credit_comes_back and state.up and state.web:
            after = after._replace(credits=state.credits + 1)
        yield Step(f"the database withdraws {number}", True, after)
    for generation in run.asks:
        rest = tuple(each for each in run.asks if each != generation)
        # As the JournalWriter: a head that is already as far was stored by a statement of ours.
        fits = run.row not in ("done", "lost") and run.generation == generation
        stored = run._replace(asks=rest, head=1 if fits else run.head)
        if not state.worker:
            yield Step(f"RUN_STARTED of {number} is lost with its worker", False,
                       state.with_run(number, run._replace(asks=rest)))  # fmt: skip
            yield Step(f"RUN_STARTED of {number} is stored after its worker's death", True,
                       state.with_run(number, stored))  # fmt: skip
            continue
        answer = stored._replace(answers=(*run.answers, (generation, fits)))
        yield Step(f"RUN_STARTED of {number}, generation {generation}: {fits}", True,
                   state.with_run(number, answer))  # fmt: skip
        if state.lost_answers and run.memory == ("asking", generation):
            lost = stored._replace(memory=("got", generation))
            after = state.with_run(number, lost)._replace(lost_answers=state.lost_answers - 1)
            yield Step(f"the answer to RUN_STARTED of {number} is lost", False, after)


def _sweep(state: State, rules: Rules) -> Iterator[Step]:
    if state.sweep is None:
        return
    here, over = state.sweep
    runs = []
    for number, run in enumerate(state.runs):
        after = run
        if run.row == "claimed" and number not in here:
            raised = run.generation + rules.sweep_raises
            if run.head == 0 and (rules.begin == "commit" or number not in over):
                after = run._replace(row="due", generation=raised)
            elif number in over:
                after = run._replace(row="lost", generation=run.generation + 1)
            elif not rules.sweep_spares_begun:
                after = run._replace(row="due", generation=raised)
        if number in over and after.memory[0] == "over":
            after = after._replace(memory=("", 0))
        runs.append(after)
    if not state.worker:
        yield Step("the sweep is lost with its worker", False, state._replace(sweep=None))
    yield Step("the database sweeps", True, state._replace(runs=tuple(runs), sweep=None))


def _burial(state: State, rules: Rules) -> Iterator[Step]:
    if state.registered:
        if any(run.locks for run in state.runs):
            return  # Its row is shared by a start that has not ended.
        gone = state._replace(registered=False, buries="deleted")
        # A dead worker is buried for certain, a frozen one perhaps.
        yield Step("the worker's registration ends", not state.worker, gone)
        if state.worker and not state.here and state.sweep is None:
            runs = tuple(
                run._replace(row="lost" if run.head else "due", generation=run.generation + 1)
                if run.row == "claimed" else run
                for run in state.runs
            )  # fmt: skip
            gone = state._replace(registered=False, worker=False, runs=runs, buries="left")
            yield Step("the worker leaves", False, gone)
    elif state.buries == "deleted":
        orphans = tuple(n for n, run in enumerate(state.runs) if run.row == "claimed")
        yield Step("the reaper looks", True, state._replace(buries="looked", burial=orphans))
    for number in state.burial or ():
        run = state.runs[number]
        rest = state._replace(burial=tuple(n for n in state.burial or () if n != number))
        if run.row == "claimed":
            row = "due" if run.head == 0 and rules.burial_puts_back else "lost"
            run = run._replace(row=row, generation=run.generation + rules.burial_raises)
        yield Step(f"the reaper judges {number}", True, rest.with_run(number, run))
