"""What the readers of a round received, as a history for the checker (docs/histories.md)."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tests.histories.checker import Violation, check, read
from tests.histories.checker.lines import hash_of
from tests.histories.recording import Recording

Json = dict[str, Any]


class Reader(Protocol):
    """What one reader of a run received over its transport, in order; it saw the stream's end."""

    transport: str
    seqs: list[int]
    events: list[Json]


def violations(
    path: Path,
    runs: Sequence[Json],
    readers: Iterable[Iterable[Reader]],
    logs: Iterable[list[Json]],
) -> list[Violation]:
    """What the checker finds; ``runs`` as the API shows them at their end, each with its readers.

    The history is written to ``path``.
    """
    with Recording(path) as history:
        history.write("history", version=1)
        for run, own, log in zip(runs, readers, logs, strict=True):
            _write(history, run, own, log)
    return check(partial(read, path))[0]


def _write(history: Recording, run: Json, readers: Iterable[Reader], log: list[Json]) -> None:
    id, thread = run["id"], run["thread_id"]
    history.write("start", client="round", key=None, body="", thread=thread, run=id, status=202)
    for reader in readers:
        who = {"reader": f"{reader.transport} of {id}", "run": id}
        history.write("open", **who, transport=reader.transport, after=0)
        for seq, event in zip(reader.seqs, reader.events, strict=True):
            history.write("event", **who, seq=seq, hash=hash_of(json.dumps(event)))
        history.write("end", **who)
    history.write(
        "run", run=id, thread=thread, status=run["status"], head=run["events"],
        repeats=run["repeats"],
    )  # fmt: skip
    for seq, event in enumerate(log, 1):
        history.write("log", run=id, seq=seq, payload=json.dumps(event))
