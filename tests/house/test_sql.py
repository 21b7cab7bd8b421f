"""The host's SQL files are complete and short to read, and each function has one body."""

import re
from collections import Counter

from agui_host.backends.postgres.functions import sql_files

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
