"""Files and folders stay small, tests are found by their module's name, and imports go down.

A file has at most 400 lines, a folder at most 16 modules; what grows past that is split by idea.
The tests of ``runs/access/access.py`` are ``test_access.py`` somewhere below ``tests/runs``.
``python -m tests.house.test_rooms`` lists the modules without a test file of their name.
"""

from collections import Counter
from pathlib import Path

from tests import picture
from tests.house import repository
from tests.house.repository import PACKAGES

CEILING = 400
SOURCES = {".py", ".html", ".css", ".js", ".mjs"}
MOST = 16
"""Modules of a folder; its ``__init__.py`` is none of them."""
HAVE_TESTS = {
    "backends": {"cache", "reach", "stream_limit"},
    "dashboard": {"people", "second_factor"},
    "embedded": {"abandoned", "embedded", "ownership", "progress", "supervisor"},
    "events": {
        "checkpoints", "follow", "hub", "journal", "partitions", "recheck", "subscriptions",
        "writer",
    },
    "protocol": {
        "chunks", "encoding", "fold", "gate", "intake", "patch", "prelude", "repair", "strict_json",
        "verifier",
    },
    "runs": {
        "access", "admission", "children", "cursors", "erasure", "executor", "history",
        "interrupts", "joining", "lifecycle", "reaper", "resilience", "resume", "retention",
        "sharing", "statuses", "tasks", "thread_lock",
    },
    "runtimes": {
        "conformance", "create_team", "documents", "http", "legacy_input", "options", "python",
        "registry", "run_context", "state",
    },
    "security": {"outbound", "secrets"},
    "teams": {
        "audit", "authentication", "invitations", "keys", "limits", "permissions", "tenancy",
    },
    "web": {"bodies", "connect", "cors", "gate", "health", "request_id"},
}  # fmt: skip
"""By room, the modules whose tests a reader looks for first."""


def too_long(root: Path) -> list[str]:
    """The files above the ceiling, with their lengths. Migrations are generated."""
    long = []
    for path in repository.files(root):
        if path.suffix in SOURCES and "migrations" not in path.parts:
            lines = (root / path).read_text("utf-8").count("\n")
            long += [f"{path}: {lines} lines"] if lines > CEILING else []
    return long


def modules(root: Path) -> list[Path]:
    """The Python modules of code and tests."""
    rooms = {*PACKAGES, "benchmarks", "tests"}
    return [
        path
        for path in repository.files(root)
        if path.suffix == ".py" and path.parts[0] in rooms
        if path.name != "__init__.py" and "migrations" not in path.parts
    ]


def folders(root: Path) -> Counter[str]:
    """How many modules each folder holds."""
    return Counter(path.parent.as_posix() for path in modules(root))


def untested(root: Path) -> list[Path]:
    """The modules of the packages without a test file of their name in the tests of their room."""
    paths = modules(root)
    files = {(path.parts[1], path.name) for path in paths if path.parts[0] == "tests"}
    return [
        path
        for path in paths
        if path.parts[0] in PACKAGES and (path.parts[0], f"test_{path.name}") not in files
    ]


def test_no_file_passes_the_ceiling() -> None:
    assert too_long(repository.ROOT) == []


def test_a_planted_file_is_found(tmp_path: Path) -> None:
    root = repository.copy(tmp_path)
    before = set(too_long(root))
    (root / "runs" / "planted.py").write_text("x = 1\n" * 401)
    (root / "runs" / "just_right.py").write_text("x = 1\n" * 400)
    (root / "runs" / "migrations" / "9999_long.py").write_text("x = 1\n" * 999)
    assert set(too_long(root)) - before == {"runs/planted.py: 401 lines"}
    planted = folders(root)["runs"]
    for number in range(MOST):
        (root / "runs" / f"planted_{number}.py").write_text("x = 1\n")
    assert folders(root)["runs"] == planted + MOST


def test_no_folder_is_crowded() -> None:
    crowded = {
        folder: number for folder, number in folders(repository.ROOT).items() if number > MOST
    }
    assert crowded == {}


def test_the_tests_of_what_matters_most_are_found_by_name() -> None:
    without = {(path.parts[0], path.stem) for path in untested(repository.ROOT)}
    named = {(room, name) for room, names in HAVE_TESTS.items() for name in names}
    assert named & without == set()
    known = {(path.parts[0], path.stem) for path in modules(repository.ROOT)}
    assert named <= known, "a module of this list has another name by now"


def test_the_picture_is_current() -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.drawn(), "run: make picture"


def test_there_is_no_circle_between_rooms_or_between_folders() -> None:
    pairs = picture.imports()
    rooms = picture.between((picture.room_of(one), picture.room_of(other)) for one, other in pairs)
    assert picture.circle(rooms) == []
    for room in PACKAGES:
        inside = [
            (one, other)
            for one, other in pairs
            if {one.split(".")[0], other.split(".")[0]} == {room}
        ]
        folders = picture.between(
            (picture.folder_of(one), picture.folder_of(other)) for one, other in inside
        )
        assert picture.circle(folders) == [], room


def test_every_arrow_goes_down() -> None:
    rooms = picture.between(
        (picture.room_of(one), picture.room_of(other)) for one, other in picture.imports()
    )
    floor = {room: n for n, row in enumerate(picture.floors(rooms, rooms)) for room in row}
    assert all(floor[one] < floor.get(other, 99) for one in rooms for other in rooms[one])


def test_a_circle_is_found() -> None:
    assert picture.circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert picture.circle({"a": {"b", "c"}, "b": {"c"}}) == []
    assert picture.reduced({"a": {"b", "c"}, "b": {"c"}}) == [("a", "b"), ("b", "c")]


if __name__ == "__main__":
    without = untested(repository.ROOT)
    print(*without, sep="\n")
    ours = [path for path in modules(repository.ROOT) if path.parts[0] in PACKAGES]
    print(f"{len(without)} of {len(ours)} modules have no test file of their name")
