"""Files and folders stay small, tests are found by their module's name, and imports go down.

The SQL files have one body for each function, a sentence above it, and short lines.

A file has at most 400 lines, a folder at most 16 modules; what grows past that is split by idea.
The tests of ``runs/access/access.py`` are ``test_access.py`` somewhere below ``tests/runs``.
``python -m tests.where PATH`` prints the tests of any other module.
"""

import re
from collections import Counter
from pathlib import Path

from agui_host.backends.postgres.functions import sql_files
from tests import counts, picture, where
from tests.counts import folders, modules, untested
from tests.house import repository
from tests.house.repository import PACKAGES, ROOMS, within

CEILING = 400
SOURCES = {".py", ".html", ".css", ".js", ".mjs"}
MOST = 16
"""Modules of a folder; its ``__init__.py`` is none of them."""
MOST_JAVASCRIPT = 220 * 1024
"""Bytes of all modules of the dashboard, own and vendored, as they are: nothing bundles them.

184 KiB until threads had a page, drafts were kept, and pages told the age of their news; 220,000
until a queue was judged by keys.
"""
LONGEST_MODULE = 199
"""Lines of an own module of the dashboard."""
FOR_CLIENTS = {"host-agent.mjs", "host-frames.mjs", "citations.mjs"}
"""What `make client` copies to static/js for pages of others; none of the dashboard's loads it."""
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
        "interrupts", "joining", "lifecycle", "reaper", "resume", "retention",
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


def javascript(root: Path) -> dict[Path, int]:
    """The bytes of each module that the dashboard's pages may load."""
    names = [path for path in repository.files(root) if path.parts[0] == "static"]
    modules = [path for path in names if path.suffix in {".js", ".mjs"}]
    return {path: (root / path).stat().st_size for path in modules if path.name not in FOR_CLIENTS}


def test_the_javascript_of_the_dashboard_stays_small() -> None:
    sizes = javascript(repository.ROOT)
    assert sum(sizes.values()) <= MOST_JAVASCRIPT
    assert any("vendor" in path.parts for path in sizes)
    for path in sizes:
        assert not any(f"/{name}" in (repository.ROOT / path).read_text() for name in FOR_CLIENTS)


def test_its_own_modules_are_short() -> None:
    lines = {
        path: (repository.ROOT / path).read_text("utf-8").count("\n")
        for path in javascript(repository.ROOT)
        if "vendor" not in path.parts
    }
    assert {path: number for path, number in lines.items() if number > LONGEST_MODULE} == {}


def test_the_tests_of_what_matters_most_are_found_by_name() -> None:
    without = {(within(path)[0], path.stem) for path in untested(repository.ROOT)}
    named = {(room, name) for room, names in HAVE_TESTS.items() for name in names}
    assert named & without == set()
    known = {(within(path)[0], path.stem) for path in modules(repository.ROOT)}
    assert named <= known, "a module of this list has another name by now"


def product() -> list[Path]:
    return [path for path in modules(repository.ROOT) if path.parts[0] in PACKAGES]


def test_every_module_has_tests_that_are_found() -> None:
    lost = [path.as_posix() for path in product() if not where.tests_of(path)]
    assert lost == [], "write tests of its name, or say in tests/where/elsewhere.py what proves it"


def test_the_table_names_test_files_and_no_module_that_needs_no_entry() -> None:
    assert [
        path for path in where.ELSEWHERE.values() if not (repository.ROOT / path).is_file()
    ] == []
    direct = where.importers()
    needed = {
        where.pattern_of(path)
        for path in product()
        if not where.by_name(path) and ".".join(path.with_suffix("").parts) not in direct
    }
    assert where.ELSEWHERE.keys() - needed == set(), "these have tests of their own by now"


def test_the_ways_to_find_them() -> None:
    assert "tests/runs/access/test_access.py" in where.tests_of(Path("runs/access/access.py"))
    assert where.tests_of(Path("runs/models/run.py")) == {where.ELSEWHERE["runs/models/*"]}
    assert where.tests_of(Path("runs/planted.py")) == set()


def test_the_picture_is_current() -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.drawn(), "run: make picture"


def test_there_is_no_circle_between_rooms_or_between_folders() -> None:
    pairs = picture.imports()
    rooms = picture.between((picture.room_of(one), picture.room_of(other)) for one, other in pairs)
    assert picture.circle(rooms) == []
    for room in ROOMS:
        inside = [
            (one, other)
            for one, other in pairs
            if {picture.place(one)[0], picture.place(other)[0]} == {room}
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


def test_what_is_written_twice_is_counted() -> None:
    lines = [f"call_number({n})" for n in range(counts.RUN)]
    texts = {"a.py": "\n".join(["first()", *lines]), "b.py": "\n\n  ".join([*lines, "last()"])}
    assert counts.duplicates(texts) == [("a.py", "b.py", counts.RUN)]
    assert counts.duplicates({"a.py": "\n".join(lines), "b.py": "\n".join(lines[1:])}) == []


def test_docstrings_are_counted() -> None:
    source = """
class A:
    \"\"\"Says something.\"\"\"

    def spoken(self): \"\"\"Too.\"\"\"
    def silent(self): pass
    def _private(self): pass
    class Meta: pass
def around():
    def inside(): pass
"""
    assert counts.documented(source) == (2, 4)


LONGEST_LINE = 102
"""One statement, which is as its migration has it."""


def test_each_file_begins_with_a_sentence_and_has_short_lines() -> None:
    for path in sql_files.paths():
        lines = path.read_text().splitlines()
        assert re.match(r"-- [A-Z].+", lines[0]), path
        assert len(lines) <= 400, path
        assert [line for line in lines if len(line) > LONGEST_LINE] == [], path


def test_each_function_and_trigger_has_one_body() -> None:
    files = sql_files.read()
    names = Counter(each.name for each in files.functions)
    names.update((each.name, each.table) for each in files.triggers)  # type: ignore[misc]
    assert [name for name, bodies in names.items() if bodies > 1] == []
    assert not files.former & names.keys()
    assert len(names) > 50


def test_each_function_has_a_sentence_above_it() -> None:
    for each in sql_files.read().functions:
        sentence = " ".join(re.findall(r"^-- (?!planner: )(.+)$", each.words, re.MULTILINE))
        assert sentence.endswith("."), each.name


def test_the_installer_and_not_a_file_sets_search_paths_and_planner_settings() -> None:
    """The full-text search is the exception: it can use one index only."""
    settings = {
        each.name: re.findall(r"\bset (\w+)", each.head) for each in sql_files.read().functions
    }
    assert {name: own for name, own in settings.items() if own} == {
        "agui_claim": ["lock_timeout"],
        "agui_matches": ["enable_seqscan", "enable_indexscan"],
    }
