"""The files of our functions are complete and short to read, and each has one body per function."""

import re
from collections import Counter
from pathlib import Path

import pytest

from agui_host.backends.postgres.functions import sql_files

FILE = """-- A subject.
-- planner: enable_seqscan=off enable_hashjoin=off
-- former: agui_older agui_oldest

-- Doubles a number.
create function agui_double(number integer default 1, limits numeric(3, 1)[] default null)
    returns integer language sql security definer as $$
    select 2 * number; -- create function in a body
$$;

-- Like any other.
-- planner: as usual
create function agui_plain() returns trigger language plpgsql as $$ begin return null; end $$;

create trigger agui_plain after update of status on runs_run for each row
    execute function agui_plain();

create constraint trigger agui_late after delete on runs_run
    deferrable initially deferred for each row execute function agui_plain();
"""


def plant(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> sql_files.Files:
    path = folder / "planted.sql"
    path.write_text(text)
    monkeypatch.setattr(sql_files, "paths", lambda: [path])
    return sql_files.read()


def test_a_file_is_read_as_it_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = plant(monkeypatch, tmp_path, FILE)
    double, plain = files.functions
    assert files.former == {"agui_older", "agui_oldest"}
    assert double.signature == "agui_double(number integer, limits numeric(3, 1)[])"
    assert double.settings == ("enable_seqscan=off", "enable_hashjoin=off")
    assert (
        "language sql security definer set search_path = ours, pg_temp "
        "set enable_seqscan=off set enable_hashjoin=off as $$" in double.statement("ours")
    )
    assert plain.settings == ()
    assert "search_path" not in plain.statement("ours")
    assert [(each.name, each.table, each.is_constraint) for each in files.triggers] == [
        ("agui_plain", "runs_run", False),
        ("agui_late", "runs_run", True),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "grant execute on function agui_double() to public;",
        "create or replace function agui_double() returns integer language sql as $$ select 1 $$;",
        "alter table runs_run disable trigger all;",
        "create view runs_seen as select 1;",
    ],
)
def test_a_file_has_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statement: str
) -> None:
    with pytest.raises(sql_files.UnreadableFile, match=r"planted\.sql"):
        plant(monkeypatch, tmp_path, f"{FILE}\n-- Why.\n{statement}\n")


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


LONGEST_LINE = 102
"""One statement, which is as its migration has it."""


def test_each_file_begins_with_a_sentence_and_has_short_lines() -> None:
    for path in sql_files.paths():
        lines = path.read_text().splitlines()
        assert re.match(r"-- [A-Z].+", lines[0]), path
        assert len(lines) <= 400, path
        assert [line for line in lines if len(line) > LONGEST_LINE] == [], path


def test_the_installer_and_not_a_file_sets_search_paths_and_planner_settings() -> None:
    """The full-text search is the exception: it can use one index only."""
    settings = {
        each.name: re.findall(r"\bset (\w+)", each.head) for each in sql_files.read().functions
    }
    assert {name: own for name, own in settings.items() if own} == {
        "agui_claim": ["lock_timeout"],
        "agui_matches": ["enable_seqscan", "enable_indexscan"],
    }
