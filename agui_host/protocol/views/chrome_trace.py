"""An outline as Chrome's trace format, which Perfetto and chrome://tracing open.

The format is the "Trace Event Format": complete events (``X``) on numbered tracks, times in
microseconds.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PROCESS = 1
DETAILS = ("id", "status", "seq0", "seq1", "bytes", "gist")


class ChromeTrace:
    """Feed it the rows of one run's outline in order; it assigns their tracks.

    Things of one subagent that overlap are on separate tracks, since a viewer takes an overlap
    on one track for nesting.
    """

    def __init__(self) -> None:
        self._now = 0
        self._number = 0
        self._tracks: dict[tuple[str, ...], list[tuple[int, int]]] = {}

    def opening(self, run: str) -> list[dict[str, Any]]:
        """The event that names the whole."""
        return [_name("process_name", 0, f"Run {run}")]

    def events(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The events of the next rows. A row without times is where the one before it began."""
        for row in rows:
            start = self._now = self._now if row["t0"] is None else row["t0"]
            end = max(start, start if row["t1"] is None else row["t1"])
            lane = tuple(row["lane"])
            track, is_new = self._track(lane, start, end)
            if is_new:
                yield _name("thread_name", track, " › ".join(lane) or "run")
            yield {
                "ph": "X",
                "name": row["name"] or row["kind"],
                "cat": row["kind"],
                "pid": PROCESS,
                "tid": track,
                "ts": start * 1000,
                "dur": (end - start) * 1000,
                "args": {name: row[name] for name in DETAILS if row[name] not in (None, "")},
            }

    def _track(self, lane: tuple[str, ...], start: int, end: int) -> tuple[int, bool]:
        """A track of the lane that is free at ``start``, and whether it is new."""
        tracks = self._tracks.setdefault(lane, [])
        if tracks and tracks[0][0] <= start:
            track = tracks[0][1]
            heapq.heapreplace(tracks, (end, track))
            return track, False
        self._number += 1
        heapq.heappush(tracks, (end, self._number))
        return self._number, True


def _name(kind: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": PROCESS, "tid": track, "args": {"name": name}}
