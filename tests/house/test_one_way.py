"""There is one way to do one thing: what must stand in one module only stands in no other."""

import re
from pathlib import Path

import pytest

from tests.house import repository

CLIENT = "agui_client/"
"""The client is a distribution of its own and imports none of the others: it has its own."""

PIPES = (
    "runtimes/kinds/process/", "runtimes/builtin/child_process.py", "runtimes/models.py",
    "backends/cache.py", "runs/lifecycle/resume.py",
)  # fmt: skip
"""What goes to processes of ours, into sealed columns, or is compared, and to no reader."""

ONE_WAY = [
    # what, how it would be written again, and where it stands
    ("a JSON encoder", r"JSONEncoder\(|\borjson\b", ("protocol/strict_json.py",)),
    ("JSON for readers", r"\bjson\.dumps\(", (*PIPES, "dashboard/inbox/indented.py", CLIENT)),
    ("a deep copy", r"\bdeepcopy\(", ("protocol/deep_copy.py",)),
    ("JSON Pointers", r"\"~1\"", ("protocol/pointer.py", CLIENT)),
    ("the terminal events", r"\{\"RUN_FINISHED\", \"RUN_ERROR\"\}", ("protocol/schema.py", CLIENT)),
    (
        "what ends a part",
        r"\"TEXT_MESSAGE_CONTENT\": *\"|\"TEXT_MESSAGE_END\": *\"|, \"TEXT_MESSAGE_END\"\)",
        ("protocol/part_kinds.py",),
    ),
    ("the open parts of a run", r"class \w*Parts\b", ("fold/open_parts.py",)),
    ("the end of a reader's log", r"closed_at is not None and .*head", ("consumers/arriving.py",)),
    ("the end of trying again", r"no answer for", ("agui_client/backoff.py",)),
    ("times in ids", r"(<<|>>) 80\b", ("protocol/ids.py",)),
    (
        "the time",
        r"timezone\.now\(|datetime\.now\(|\btime\.time\(\)",
        (
            "backends/postgres/clock.py",
            # what nobody decides by: a cache's cursor, and what agents and seeds write
            "protocol/dialects/durable_streams.py",
            "runtimes/builtin/scripted.py",
            "runtimes/context/log_lines.py",
            "runs/management/commands/seed_demo.py",
        ),
    ),
    ("a reader of SSE", r"class \w*(SseParser|Decoder)\b", ("/sse.py",)),
    # It loses a cancellation that comes in the turn of its end (Python 3.11): asyncio.timeout.
    ("a deadline", r"asyncio\.wait_for\(", ()),
    ("pages of lists", r"\(CursorPagination\)", ("teams/api/pages.py",)),
    (
        "a stream of a run",
        r"\bsse\.stream\(",
        ("web/consumers/stream.py", "web/consumers/connect.py"),
    ),
]


def again(pattern: str, places: tuple[str, ...], root: Path = repository.ROOT) -> list[str]:
    """Where it is written in source outside its places, as ``file:line``."""
    places_again = []
    for path in repository.files(root):
        name = path.as_posix()
        if path.suffix != ".py" or path.parts[0] not in repository.PACKAGES:
            continue
        if "migrations" in path.parts or any(place in name for place in places):
            continue
        for number, line in enumerate((root / path).read_text("utf-8").splitlines(), 1):
            places_again += [f"{name}:{number}"] if re.search(pattern, line) else []
    return places_again


@pytest.mark.parametrize(("what", "pattern", "places"), ONE_WAY)
def test_it_is_written_once(what: str, pattern: str, places: tuple[str, ...]) -> None:
    assert again(pattern, places) == [], f"{what}: use {' or '.join(places)}"
    everywhere = again(pattern, ())
    unused = [place for place in places if not any(place in where for where in everywhere)]
    assert unused == [], f"{what} no longer stands here"


def test_a_planted_one_is_found(tmp_path: Path) -> None:
    root = repository.copy(tmp_path)
    (root / "runs" / "planted.py").write_text('ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})\n')
    (pattern, places) = next(row[1:] for row in ONE_WAY if row[0] == "the terminal events")
    assert again(pattern, places, root) == ["runs/planted.py:1"]
