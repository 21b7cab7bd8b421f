"""A file of functions is read as it is written, and refused where it has anything else."""

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
