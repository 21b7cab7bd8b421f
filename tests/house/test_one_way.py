"""There is one way to do one thing: what must stand in one module only stands in no other."""

import re
from pathlib import Path

import pytest

from tests.house import repository

CLIENT = "agui_client/"
"""The client is a distribution of its own and imports none of the others: it has its own."""

PIPES = (
    "agui_host/runtimes/kinds/process/", "agui_host/runtimes/builtin/child_process.py",
    "agui_host/embedded/deployed.py", "agui_host/runtimes/models.py",
    "agui_host/backends/cache.py", "agui_host/runtimes/versions/digests.py",
    "runs/lifecycle/resume.py",
)  # fmt: skip
"""What goes to processes of ours, into sealed columns, or is compared, and to no reader."""

MAKES_FUNCTION = r"(?i)\bcreate (or replace )?(constraint )?(function|procedure|trigger)\b"
ONE_WAY = [
    # what, how it would be written again, and where it stands
    ("a JSON encoder", r"JSONEncoder\(|\borjson\b", ("agui_host/protocol/strict_json.py",)),
    (
        "JSON for readers",
        r"\bjson\.dumps\(",
        (*PIPES, "agui_host/dashboard/inbox/indented.py", "runs/access/people/export.py", CLIENT),
    ),
    (
        "the value of a stored body, which can have megabytes: patient_json.loads",
        r"(?<!patient_)\bjson\.loads\((payload|\w+\.(payload|input|result))\)",
        (),
    ),
    ("a deep copy", r"\bdeepcopy\(", ("agui_host/protocol/deep_copy.py",)),
    ("JSON Pointers", r"\"~1\"", ("agui_host/protocol/pointer.py", CLIENT)),
    (
        "the terminal events",
        r"\{\"RUN_FINISHED\", \"RUN_ERROR\"\}",
        ("agui_host/protocol/schema.py", CLIENT),
    ),
    (
        "what ends a part",
        r"\"TEXT_MESSAGE_CONTENT\": *\"|\"TEXT_MESSAGE_END\": *\"|, \"TEXT_MESSAGE_END\"\)",
        ("agui_host/protocol/part_kinds.py",),
    ),
    ("the open parts of a run", r"class \w*Parts\b", ("fold/open_parts.py",)),
    ("the events of a log", r"agui_events\(", ("events/journal.py", "events/sealed/reading.py")),
    ("the end of a reader's log", r"closed_at is not None and .*head", ("consumers/arriving.py",)),
    ("the end of trying again", r"no answer for", ("agui_client/backoff.py",)),
    ("times in ids", r"(<<|>>) 80\b", ("agui_host/protocol/ids.py",)),
    (
        "the time",
        r"timezone\.now\(|datetime\.now\(|\btime\.time\(\)",
        (
            "agui_host/backends/postgres/clock.py",
            # what nobody decides by: a cache's cursor, and what agents and seeds write
            "agui_host/dialects/durable_streams/wire.py",
            "agui_host/runtimes/builtin/scripted.py",
            "agui_host/runtimes/context/log_lines.py",
            "runs/management/commands/seed_demo.py",
        ),
    ),
    ("a reader of SSE", r"class \w*(SseParser|Decoder)\b", ("/sse.py",)),
    # It loses a cancellation that comes in the turn of its end (Python 3.11): asyncio.timeout.
    ("a deadline", r"asyncio\.wait_for\(", ()),
    (
        "a function or trigger of the database: a file in sql/",
        MAKES_FUNCTION,
        ("postgres/functions/install.py", "postgres/functions/sql_files.py"),
    ),
    (
        "what is special about a kind of agent",
        r"\bagent\.kind (==|!=|in|not in) |\bagent__kind=|\bkind [=!]= (\"(process|http)|EXTERN)",
        ("agui_host/dialects/mcp/verbs.py",),  # a registered agent's schema is in its code
    ),
    (
        "the event of a status",
        r"f\"(run|interrupt)\.\{|\"(run\.(created|interrupted)|interrupt\.(opened|expired))\"",
        ("runs/models/run.py", "runs/models/interrupt.py"),
    ),
    (
        "the active statuses",
        r"['\"]queued['\"], ['\"]running|Status\.QUEUED, Status\.RUNNING",
        ("runs/models/run.py",),
    ),
    (
        "the runs that wait for admission, and those that are admitted",
        r"(QUEUED|\"queued\"), stamp|ACTIVE, stamp",
        ("runs/models/run.py",),
    ),
    (
        "who sees a thread",
        r"visibility(\"\))?(=| == |, )Visibility\.(TEAM|PRIVATE).*(creator|\|| or )",
        ("runs/access/access.py",),
    ),
    (
        "the columns of a new run",
        r"request_digest=request\.digest,$",
        ("runs/lifecycle/statements/new_run.py",),
    ),
    ("pages of lists", r"\(CursorPagination\)", ("agui_host/teams/api/pages.py",)),
    (
        "a stream of a run",
        r"\bsse\.stream\(",
        ("agui_host/web/consumers/stream.py", "agui_host/web/consumers/connect.py"),
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


@pytest.mark.parametrize(
    ("what", "pattern", "place"),
    [
        (
            "how many further runs of a team may begin",
            r"\bconcurrent_runs\b",
            "runs/sql/admission.sql",
        ),
        ("the refusal of a scope", r"\binsufficient_privilege\b", "agui_host/teams/sql/scope.sql"),
    ],
)
def test_it_is_written_once_in_the_database(what: str, pattern: str, place: str) -> None:
    places = [
        path.as_posix()
        for path in repository.files(repository.ROOT)
        if path.suffix == ".sql" and path.parent.name == "sql"
        for _ in re.findall(pattern, (repository.ROOT / path).read_text("utf-8"))
    ]
    assert places == [place], what


def test_no_migration_makes_a_function() -> None:
    """It would be a second body, which ``migrate`` replaces by the one in ``sql/``."""
    makers = [
        path.as_posix()
        for path in repository.files(repository.ROOT)
        if path.suffix == ".py" and path.parent.name == "migrations"
        if re.search(MAKES_FUNCTION, (repository.ROOT / path).read_text("utf-8"))
    ]
    assert makers == []
