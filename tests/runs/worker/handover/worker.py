"""Steps of the worker that runs are handed to."""

from collections.abc import Iterator

from tests.runs.worker.handover.states import Rules, Run, Search, Size, State, Step, cut


def steps(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    """Everything that the worker can do next."""
    if not state.worker:
        return
    for number, run in enumerate(state.runs):
        yield from _hands(state, number, run, rules, size)
        yield from _execution(state, number, run, rules)
    if state.eof and not any(run.hand == "old" for run in state.runs):
        after = state._replace(eof=False, is_due=state.is_due or rules.searches_for_dropped)
        yield Step("the worker reads the link's end", True, after)
    yield from _takes(state, rules, size)
    yield from _search(state, rules)
    yield from _memory(state, rules)
    yield from _end(state, rules)


def receive(state: State, number: int, rules: Rules, size: Size) -> State:
    """A hand, which no search holds up, is dropped or its agent is prepared."""
    run = state.runs[number]
    taking = state.take is not None and rules.take_reserves
    dropped = (
        (run.put_back and rules.remembers)
        or (run.memory in ("reading", "running", "over"))
        or (state.stopping and rules.drops_if_stopping)
        or (len(state.here) + taking >= size.places and rules.drops_if_full)
        or (state.lapsed and rules.lives != "")
    )
    if dropped:
        rest = state.with_run(
            number, run._replace(memory="" if run.memory == "held" else run.memory)
        )
        return rest._replace(is_due=state.is_due or rules.searches_for_dropped)
    return state.with_run(number, run._replace(memory="reading", claim=1))


def _hands(state: State, number: int, run: Run, rules: Rules, size: Size) -> Iterator[Step]:
    read = run.hand in ("link", "old") or (run.hand == "late" and not rules.cut_links_are_not_read)
    if read:
        after = state.with_run(number, run._replace(hand=""))
        if run.hand == "link":
            after = after._replace(grants=state.grants + 1)
        if state.search is not None and rules.holds_hands and not run.memory:
            after = after.with_run(number, after.runs[number]._replace(memory="held"))
        else:
            after = receive(after, number, rules, size)
        yield Step(f"hand {number} arrives", run.hand != "late", after)
    if run.hand == "late":
        after = state.with_run(number, run._replace(hand=""))
        yield Step(f"hand {number} of a cut link is not read", True, after)


def _execution(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    if run.memory == "reading":
        if state.lapsed and rules.lives == "beginning":
            after = state.with_run(number, run._replace(memory="", claim=0))
            yield Step(f"the worker, silent for too long, drops {number}", True,
                       after._replace(is_due=True))  # fmt: skip
        else:
            wrong = {
                "lost": "a run is begun after it was told lost",
                "": "a run is begun that was never started",
            }.get(run.row, "")
            if run.start:
                wrong = ""  # Its commit can still come.
            begun = run._replace(memory="running", begun=run.begun + 1, wrong=wrong)
            yield Step(f"the worker begins {number}", True, state.with_run(number, begun))
        failed = state.with_run(number, run._replace(memory="over"))
        yield Step(f"the worker fails to begin {number}", False,
                   failed._replace(fault=True, is_due=rules.searches_for_dropped))  # fmt: skip
    if run.memory == "running":
        ours = run.row == "claimed" and run.generation == run.claim
        ended = run._replace(memory="over", row="done" if ours else run.row)
        yield Step(f"run {number} ends", True, state.with_run(number, ended))


def _takes(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    if state.take is None:
        idle = not (state.stopping or state.leave or state.unsure or state.search)
        if idle and state.takes and len(state.here) < size.places:
            after = state._replace(takes=state.takes - 1, take=("sent", -1, 0))
            yield Step("the worker looks for due runs", False, after)
        return
    phase, number, generation = state.take
    if state.lost_answers:
        after = state._replace(
            take=None, unsure=True, lost_answers=state.lost_answers - 1,
            stray_take=state.stray_take or phase == "sent",
        )  # fmt: skip
        yield Step("the answer to the take is lost", False, after)
    if phase != "told":
        return
    after = state._replace(take=None)
    if number >= 0:
        run = state.runs[number]
        # A run that is frozen here and buried meanwhile begins late, as ever.
        taken = run._replace(memory="running", claim=generation, begun=run.begun + 1)
        after = after.with_run(number, taken)
    yield Step("the worker begins what it has taken", True, after)


def _search(state: State, rules: Rules) -> Iterator[Step]:
    if state.search is None:
        if state.leave or (state.take is not None and rules.searches_between_takes):
            return
        over = tuple(n for n, run in enumerate(state.runs) if run.memory == "over")
        issued = state._replace(search=Search(state.here, over), is_due=False)
        finds = any(
            run.row == "claimed" and run.memory not in ("reading", "running") and not run.hand
            and run.web != "claimed" for run in state.runs
        )  # fmt: skip
        if state.is_due or state.unsure or (finds and rules.searches_by_time):
            yield Step("the worker searches", True, issued)
        elif state.early_searches:
            after = issued._replace(early_searches=state.early_searches - 1)
            yield Step("the worker searches early", False, after)
        return
    if state.lost_answers and state.stray is None:
        stray = state.search if state.search.back is None else None
        runs = tuple(run._replace(memory="") if run.memory == "held" else run for run in state.runs)
        after = state._replace(
            runs=runs, search=None, stray=stray, unsure=True, lost_answers=state.lost_answers - 1
        )
        if rules.lost_search_cuts:
            after = cut(after)
        yield Step("the answer to the search is lost", False, after)


def answered(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    """The worker hears which runs its search has put back."""
    search = state.search
    if not state.worker or search is None or search.back is None:
        return
    runs = tuple(
        run._replace(
            put_back=run.put_back or (number in search.back and rules.remembers),
            memory="" if number in search.over and run.memory == "over" else run.memory,
        )
        for number, run in enumerate(state.runs)
    )
    after = state._replace(runs=runs, search=None, unsure=False)
    for number, run in enumerate(runs):
        if run.memory == "held":
            after = receive(after, number, rules, size)
    yield Step("the search is answered", True, after)


def _memory(state: State, rules: Rules) -> Iterator[Step]:
    if state.forgets and state.search is None and any(run.put_back for run in state.runs):
        after = state._replace(forgets=state.forgets - 1)
        if rules.forgets_with_links:
            after = cut(after)
        else:
            runs = tuple(run._replace(put_back=False) for run in state.runs)
            after = after._replace(runs=runs)
        yield Step("the worker forgets what it has put back", False, after)


def _end(state: State, rules: Rules) -> Iterator[Step]:
    if state.lapses and not state.lapsed:
        after = state._replace(lapsed=True, lapses=state.lapses - 1, fault=True)
        yield Step("the worker is silent for too long", False, after)
    if state.lapsed and not state.leave:
        if state.registered:
            yield Step("the worker's heartbeat succeeds", True, state._replace(lapsed=False))
        elif not state.stopping:
            yield Step("the worker finds itself buried", True, cut(state._replace(stopping=True)))
    if state.stops and not state.stopping and not state.leave:
        after = state._replace(stopping=True, stops=False)
        yield Step(
            "the worker is stopped", False, cut(after) if rules.cuts_before_leaving else after
        )
    idle = not state.here and state.search is None and state.take is None
    if not state.leave and idle and (state.stopping or state.stops):
        # Without a stop: its loop has failed.
        after = state._replace(leave="sent", stops=False)
        yield Step("the worker leaves", state.stopping,
                   cut(after) if rules.cuts_before_leaving else after)  # fmt: skip
    if state.leave == "done":
        yield Step("the worker's process ends", True, state._replace(worker=False, leave=""))
    if state.deaths:
        yield Step("the worker dies", False, state._replace(worker=False, fault=True))
