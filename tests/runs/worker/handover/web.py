"""Steps of the web process and of its link to the worker."""

from collections.abc import Iterator

from tests.runs.worker.handover.states import Rules, Run, Size, State, Step, disconnected


def steps(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    """Everything that the web process and the link can do next."""
    for number, run in enumerate(state.runs):
        if state.web and run.web != "over":
            yield from _start(state, number, run, rules)
    yield from _link(state, rules, size)
    if state.web and state.deaths:
        runs = tuple(
            run._replace(
                web="over", start=run.start if run.start in ("sent", "claims") else "",
                hand="old" if run.hand == "link" else run.hand,
            )
            for run in state.runs
        )  # fmt: skip
        dead = disconnected(state._replace(runs=runs, eof=state.eof or state.link == "up"))
        yield Step("the web process dies", False, dead._replace(web=False))


def _start(state: State, number: int, run: Run, rules: Rules) -> Iterator[Step]:
    if run.web == "new":
        has = state.credits > 0
        start = run._replace(web="sent", start="sent", credit="current" if has else "")
        after = state._replace(credits=state.credits - has)
        yield Step(f"start {number} is sent", False, after.with_run(number, start))
    elif run.web == "sent":
        if run.start in ("claimed", "due", "none"):
            heard = run._replace(web="claimed" if run.start == "claimed" else "over", start="")
            after = state
            if heard.web == "over":
                after, heard = _give_back(state, heard, rules)
            yield Step(f"start {number} is answered: {run.start}", True,
                       after.with_run(number, heard))  # fmt: skip
        if state.lost_answers:
            # The statement itself can still take effect.
            unsure = run._replace(start=run.start if run.start in ("sent", "claims") else "")
            after = state._replace(lost_answers=state.lost_answers - 1)
            if rules.hands_if_answered or not run.credit:
                after, unsure = _give_back(after, unsure._replace(web="over"), rules)
            else:
                unsure = unsure._replace(web="claimed")
            yield Step(f"the answer to start {number} is lost", False,
                       after.with_run(number, unsure))  # fmt: skip
    elif run.web == "claimed":
        arrives = state.link == "up" and run.credit == "current"
        handed = run._replace(web="over", hand="link" if arrives else "", credit="")
        after = state
        if rules.handed_credit_comes_back and arrives:
            after = state._replace(credits=state.credits + 1)
        yield Step(f"the web process hands {number} over", True, after.with_run(number, handed))


def _give_back(state: State, run: Run, rules: Rules) -> tuple[State, Run]:
    if run.credit == "current" and rules.credit_comes_back:
        state = state._replace(credits=state.credits + 1)
    return state, run._replace(credit="")


def _link(state: State, rules: Rules, size: Size) -> Iterator[Step]:
    if state.grants and state.web:
        after = state._replace(grants=state.grants - 1, credits=state.credits + 1)
        yield Step("the web process gets a credit", True, after)
    if state.link == "cut":
        yield Step("the web process notices that the link is cut", True, disconnected(state))
    listens = state.worker and not state.stopping and not state.leave
    refused = state.unsure and rules.lost_search_refuses
    needed = state.web and any(run.web != "over" for run in state.runs)
    if state.link == "down" and needed and listens and not refused:
        after = state._replace(link="up", grants=size.credits)
        yield Step("the web process connects", False, after)
    if state.link == "up" and state.breaks:
        runs = tuple(run._replace(hand="old") if run.hand == "link" else run for run in state.runs)
        after = disconnected(state._replace(runs=runs, breaks=state.breaks - 1))
        yield Step("the link breaks", False, after._replace(eof=True))
    for number, run in enumerate(state.runs):
        if run.hand == "old":
            lost = state.with_run(number, run._replace(hand=""))
            yield Step(f"hand {number} is lost with its link", False, lost)
