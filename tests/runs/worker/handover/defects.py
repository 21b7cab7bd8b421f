"""The sizes that are explored, and defects that the explorer must notice."""

from tests.runs.worker.handover.states import Rules, Size

BARE = Size()
BREAKS = Size(breaks=1, early_searches=1)
LOST = Size(takes=1, early_searches=1, lost_answers=1)
SILENT = Size(lapses=1, early_searches=1)
LEAVES = Size(stops=True, early_searches=1)
FORGETS = Size(early_searches=1, forgets=1)
TWO = Size(runs=2, deaths=False)
FULL = Size(runs=2, deaths=False, takes=1)
THREAD = Size(runs=2, in_thread=True, deaths=False, breaks=1)
SIZES = {
    "deaths": BARE,
    "and a link that breaks": BREAKS,
    "and a take, lost answers": LOST,
    "and a silent worker": SILENT,
    "and a worker that leaves": LEAVES,
    "two runs, one place, a take": FULL,
    "two runs, and a link that breaks": Size(runs=2, deaths=False, breaks=1, early_searches=1),
    "two runs of one thread, and a link that breaks": THREAD,
    "two runs of one thread, and a silent worker": Size(
        runs=2, in_thread=True, deaths=False, early_searches=1, lapses=1
    ),
    "two runs of one thread, a take, lost answers": Size(
        runs=2, in_thread=True, deaths=False, takes=1, lost_answers=1
    ),
    "all at once but lost answers": Size(
        breaks=1, takes=1, early_searches=1, lapses=1, forgets=1, stops=True
    ),
}
LARGE = (
    "two runs, and a link that breaks",
    "two runs of one thread, and a silent worker",
    "two runs of one thread, a take, lost answers",
    "all at once but lost answers",
)
"""Those that take longer than two seconds of processor time."""
TWICE, FORGOTTEN = "a run is begun twice", "a run is forgotten"
BURIED = "a run is begun after it was told lost"
BLAMELESS = "a run is told lost though nothing has failed"
TOO_MANY = "a worker has more runs than places"
TOGETHER = "two runs of a thread are active"
DEFECTS = {
    "a hand begins during a search": (Rules(holds_hands=False), BREAKS, TWICE),
    "what was put back is not remembered": (Rules(remembers=False), BREAKS, TWICE),
    "it is forgotten while links live": (Rules(forgets_with_links=False), FORGETS, TWICE),
    "a search whose answer is lost leaves the links": (Rules(lost_search_cuts=False), LOST, TWICE),
    "a search whose answer is lost takes effect late": (
        Rules(searches_are_numbered=False), LOST, TWICE,
    ),
    "links are accepted before a later search is answered": (
        Rules(lost_search_refuses=False), LOST, TWICE,
    ),
    "a search goes with a take": (Rules(searches_between_takes=False), LOST, TWICE),
    "lines of a cut link are read": (Rules(cut_links_are_not_read=False), LOST, TWICE),
    "nothing searches by time": (Rules(searches_by_time=False), BREAKS, FORGOTTEN),
    "nothing searches at all": (
        Rules(searches_by_time=False, searches_for_dropped=False), BARE, FORGOTTEN,
    ),
    "a start does not lock the worker's registration": (
        Rules(start_locks_worker=False), LEAVES, BLAMELESS,
    ),
    "the web process hands over after a lost answer": (
        Rules(hands_if_answered=False), LOST, "a run is begun that was never started",
    ),
    "a worker that stops begins held hands": (Rules(drops_if_stopping=False), LEAVES, TWICE),
    "the links are closed after the worker has left": (
        Rules(cuts_before_leaving=False, drops_if_stopping=False), LEAVES, TWICE,
    ),
    "the heartbeat's age is not compared": (
        Rules(lives=""), SILENT, BURIED,
    ),
    "it is compared when the hand arrives": (
        Rules(lives="arrival"), SILENT, BURIED,
    ),
    "the reaper judges before it deletes the registration": (
        Rules(burial_deletes_first=False), SILENT, BURIED,
    ),
    "a full worker accepts": (Rules(drops_if_full=False), TWO, TOO_MANY),
    "a take reserves no places": (Rules(take_reserves=False), FULL, TOO_MANY),
    "a start does not look at the other runs of its thread": (
        Rules(start_looks_at_thread=False), THREAD, TOGETHER,
    ),
    "a start looks without the lock of its thread": (
        Rules(thread_is_locked=False), THREAD, TOGETHER,
    ),
    "a credit that was not used is lost": (
        Rules(credit_comes_back=False), TWO, "a credit is lost",
    ),
    "a used credit comes back": (
        Rules(handed_credit_comes_back=True), TWO, "a credit is counted twice",
    ),
}  # fmt: skip
