"""Steps of the web process, of the worker, and of what happens to them."""

from collections.abc import Iterator

from tests.runs.worker.handover.states import HERE, Rules, Run, Size, State, Step


def steps(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    """Everything that the two processes and their link can do next."""
    for number, run in enumerate(state.runs):
        yield from _start(state, number, run, rules)
        if state.web:
            yield from _decision(state, number, run, rules)
        if state.worker:
            yield from _messages(state, number, run, rules, size)
            yield from _execution(state, number, run, rules)
            yield from _take(state, number, run, size)
    yield from _credits(state, size)
    yield from _sweep(state)
    yield from _faults(state)


def _start(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    if run.web == "new" and state.web:
        claims = state.credits > 0 and state.registered
        writing = run._replace(
            web="writing", claims=claims, locks=claims and rules.start_locks_worker,
            credit=state.epoch if claims else -1,
        )  # fmt: skip
        after = state.with_run(number, writing)._replace(credits=state.credits - claims)
        yield Step(f"start {number}", False, after)
    if run.web != "writing":
        return
    if not run.claims:
        queued = run._replace(web="over", row="due")
        yield Step(f"{number} is queued", True, state.with_run(number, queued))
        return
    claimed = run._replace(locks=False, row="claimed", generation=1)
    back = state.credits + (state.web and run.credit == state.epoch)
    if state.web:
        arrives = state.up and run.credit == state.epoch
        handed = claimed._replace(web="handed", hands=run.hands + arrives)
        yield Step(f"{number} is claimed and handed", True, state.with_run(number, handed))
        unsure = state.with_run(number, claimed._replace(web="unsure"))
        yield Step(f"the answer to start {number} is lost", False, unsure._replace(credits=back))
    else:
        yield Step(f"{number} is claimed after its web process's death", True,
                   state.with_run(number, claimed._replace(web="over")))  # fmt: skip
    rolled_back = state.with_run(number, run._replace(web="over", locks=False))
    yield Step(f"start {number} is rolled back", False, rolled_back._replace(credits=back))


def _decision(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    withdrawal = run._replace(web="withdrawn", withdrawal=True)
    if run.web in ("handed", "unsure") or (rules.withdraws_after_go and run.web == "gone"):
        yield Step(f"the web process withdraws {number}", True, state.with_run(number, withdrawal))
    if run.taken:
        heard = run._replace(taken=False)
        if rules.begin != "go":
            heard = heard._replace(web="over" if run.web == "handed" else run.web)
        elif run.web == "handed":
            heard = heard._replace(web="gone", go=True)
        yield Step(f"the web process hears 'taken' of {number}", True,
                   state.with_run(number, heard))  # fmt: skip


def _messages(state: State, number: int, run: Run, rules: Rules, size: Size) -> Iterator[Step]:
    known = rules.refuses_known and run.memory[0] != ""
    full = rules.full_worker_refuses and len(state.here) >= size.places
    accepted = run if known or full else run._replace(memory=("got", 1), taken=True)
    if rules.begin == "go" and accepted is not run:
        accepted = accepted._replace(memory=("ready", 1))
    if run.hands:
        after = state._replace(granted=state.granted - 1)
        delivered = accepted._replace(hands=run.hands - 1)
        yield Step(f"hand {number} arrives", True, after.with_run(number, delivered))
    if run.hands and state.duplicates:
        after = state._replace(duplicates=state.duplicates - 1)
        yield Step(f"hand {number} arrives, and again", False, after.with_run(number, accepted))
    if run.old_hands:
        delivered = accepted._replace(old_hands=run.old_hands - 1)
        yield Step(f"a late hand {number} arrives", False, state.with_run(number, delivered))
        dropped = run._replace(old_hands=run.old_hands - 1)
        yield Step(f"a late hand {number} is lost", True, state.with_run(number, dropped))
    if run.go:
        went = run._replace(go=False)
        if run.memory[0] == "ready":
            went = _ask(went._replace(begun=run.begun + 1, memory=("begun", 1)))
        yield Step(f"go {number} arrives", True, state.with_run(number, went))
        lost = state.with_run(number, run._replace(go=False))
        yield Step(f"go {number} is lost", False, lost)


def _ask(run: Run) -> Run:
    return run._replace(asks=tuple(sorted({*run.asks, run.memory[1]})))


def _execution(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    phase, generation = run.memory

    def step(name: str, after: Run, *, fair: bool = True) -> Step:
        return Step(f"the worker {name} {number}", fair, state.with_run(number, after))

    over = run._replace(memory=("over", generation))
    if phase == "ready":
        yield step("gives up waiting for go", over)
    if phase == "got":
        asking = _ask(run._replace(memory=("asking", generation)))
        if rules.begin == "hand":
            asking = asking._replace(begun=run.begun + 1)
        yield step("stores RUN_STARTED of", asking)
    if phase in ("got", "asking"):
        yield step("fails before the agent of", over, fair=False)
    for answer in run.answers:
        rest = run._replace(answers=tuple(each for each in run.answers if each != answer))
        if phase not in ("asking", "begun") or answer[0] != generation:
            yield step("ignores an answer of", rest)
        elif not answer[1]:
            yield step("has lost", rest._replace(memory=("over", generation)))
        elif phase == "asking":
            begun = run.begun + (rules.begin == "commit")
            yield step("begins", rest._replace(memory=("begun", generation), begun=begun))
        else:
            yield step("hears that RUN_STARTED is stored of", rest)
    if phase == "begun" and not run.asks and not run.answers:
        ours = run.row == "claimed" and run.generation == generation and run.head == 1
        yield step("ends", over._replace(row="done") if ours else over)


def _take(state: State, number: int, run: Run, size: Size) -> Iterator[Step]:
    replaces = run.memory[0] in HERE
    if run.row != "due" or run.head or not state.takes or not state.registered:
        return
    if run.memory[0] == "begun" or (not replaces and len(state.here) >= size.places):
        return
    generation = run.generation + 1
    taken = run._replace(row="claimed", generation=generation)
    after = state._replace(takes=state.takes - 1)
    memory = taken._replace(memory=("got", generation))
    yield Step(f"the worker takes {number}", False, after.with_run(number, memory))
    lost = taken if not replaces else taken._replace(memory=("over", run.memory[1]))
    yield Step(f"the answer to a take of {number} is lost", False, after.with_run(number, lost))


def _credits(state: State, size: Size) -> Iterator[Step]:
    if state.up and state.worker and state.granted < size.places - len(state.here):
        after = state._replace(granted=state.granted + 1, grants=state.grants + 1)
        yield Step("the worker grants a credit", False, after)
    if state.grants and state.web:
        after = state._replace(grants=state.grants - 1, credits=state.credits + 1)
        yield Step("the web process gets a credit", True, after)


def _sweep(state: State) -> Iterator[Step]:
    if not state.worker or state.sweep is not None:
        return
    memory = [run.memory[0] for run in state.runs]
    over = tuple(n for n, phase in enumerate(memory) if phase == "over")
    issued = state._replace(sweep=(state.here, over))
    finds = any(run.row == "claimed" and run.memory[0] not in HERE for run in state.runs)
    if finds:
        yield Step("the worker looks for lost runs", True, issued)
    elif state.early_sweeps:
        after = issued._replace(early_sweeps=state.early_sweeps - 1)
        yield Step("the worker looks for lost runs early", False, after)


def _faults(state: State) -> Iterator[Step]:
    if state.worker:
        runs = tuple(
            run._replace(memory=("", 0), hands=0, old_hands=0, go=False, taken=False, answers=())
            for run in state.runs
        )
        after = state._replace(runs=runs, worker=False, granted=0, grants=0, credits=0)
        yield Step("the worker dies", False, after)
    if state.web:
        runs = tuple(
            run._replace(web="over" if run.web not in ("new", "writing") else run.web, taken=False)
            for run in state.runs
        )
        yield Step("the web process dies", False, state._replace(runs=runs, web=False, credits=0))
    if state.up and state.breaks and state.worker and state.web:
        # What was under way is lost, or arrives later than it should be able to.
        runs = tuple(
            run._replace(old_hands=run.old_hands + run.hands, hands=0, taken=False, go=False)
            for run in state.runs
        )
        after = state._replace(runs=runs, up=False, granted=0, grants=0, breaks=state.breaks - 1)
        yield Step("the link breaks", False, after)
    if not state.up:
        # The web process can use credits of the old link until it notices.
        after = state._replace(up=True, epoch=state.epoch + 1, credits=0)
        yield Step("the link is there again", True, after)
