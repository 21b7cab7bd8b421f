"""Starts and their keys: what was acknowledged is there, and one key makes one run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .violation import Violation

Bodies = dict[str, set[str]]


def violations(
    starts: Iterable[Line], runs: dict[str, Line], continuing: set[str]
) -> Iterator[Violation]:
    """``continuing``: the runs that answers made in the thread of a start."""
    in_thread: defaultdict[str, set[str]] = defaultdict(set)
    for id, run in runs.items():
        if id not in continuing and not run.get("repeats"):
            in_thread[run["thread"]].add(id)
    by_key: defaultdict[str, Bodies] = defaultdict(lambda: defaultdict(set))
    keys_of: defaultdict[str, set[str]] = defaultdict(set)
    for start in starts:
        id, key = start["run"], start["key"]
        if id is not None and id not in runs:
            yield Violation("start", id, f"acknowledged to {start['client']}, and not there")
        if key is None:
            continue
        others = in_thread[start["thread"]] - {id}
        if id is not None:
            by_key[key][start["body"]].add(id)
            keys_of[id].add(key)
        if len(in_thread[start["thread"]]) > 1:
            yield Violation("idempotency", key, f"made {id} and {', '.join(sorted(others))}")
    for key, bodies in by_key.items():
        ids = set().union(*bodies.values())
        if len(ids) > 1:
            yield Violation("idempotency", key, f"gave {', '.join(sorted(ids))}")
        elif len(bodies) > 1:
            yield Violation("idempotency", key, f"gave one run to {len(bodies)} bodies")
    for id, keys in keys_of.items():
        if len(keys) > 1:
            yield Violation("idempotency", id, f"is the run of {', '.join(sorted(keys))}")
