"""The sizes that are explored, and defects that the explorer must notice."""

from tests.runs.worker.handover.states import Rules, Size

BARE = Size(duplicates=0, breaks=0, takes=0, early_sweeps=0, lost_answers=0)
SIZES = {
    "deaths, freezes, burials, withdrawals": BARE,
    "and the worker takes from the queue": Size(1, 1, 0, 0, 1, 0, 0),
    "and early sweeps, lost answers": Size(1, 1, 0, 0, 0, 1, 1),
    "and duplicates, broken links, late hands": Size(1, 1, 1, 1, 0, 0, 0),
}
EARLY, LINKS = SIZES["and early sweeps, lost answers"], Size(1, 1, 1, 1, 0, 1, 0)
TWICE, FORGOTTEN = "a run is begun twice", "a run is forgotten"
DEFECTS = {
    "the agent begins before RUN_STARTED is committed": (Rules(begin="hand"), BARE, TWICE),
    "the agent begins by 'go', the sweep is one statement": (
        Rules(begin="go", burial_puts_back=False), BARE, TWICE,
    ),
    "withdraws after 'go'": (
        Rules(begin="go", burial_puts_back=False, withdraws_after_go=True), BARE, TWICE,
    ),
    "a withdrawal without the fence": (Rules(withdrawal_is_fenced=False), BARE, TWICE),
    "a sweep that does not spare what has begun": (Rules(sweep_spares_begun=False), EARLY, TWICE),
    "a sweep that leaves the generation": (Rules(sweep_raises=False), LINKS, TWICE),
    "a burial that does not wait for a start": (
        Rules(start_locks_worker=False), BARE, FORGOTTEN,
    ),
    "a burial that leaves the generation": (Rules(burial_raises=False), BARE, TWICE),
    "a duplicate of a hand counts": (Rules(refuses_known=False), Size(1, 2, 1, 0, 0, 0, 0), TWICE),
    "a withdrawn hand's credit comes back": (
        Rules(credit_comes_back=True), BARE, "a credit is counted twice",
    ),
    "a full worker accepts": (
        Rules(full_worker_refuses=False), Size(2, 1, 0, 0, 1, 0, 0),
        "a worker has more runs than places",
    ),
}  # fmt: skip
