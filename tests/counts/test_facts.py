"""The facts of a small checkout; two checkouts stand side by side."""

import subprocess
from pathlib import Path

from tests.counts import facts

FILES = {
    "events/__init__.py": "",
    "events/writer.py": '"""A writer that nobody reads."""\n\nMOST = 1  # of each\n',
    "events/migrations/0001_tables.py": '"""Tables."""\nSQL = "create function older() returns"\n',
    "events/sql/append.sql": (
        "-- Appends.\n\n-- One.\ncreate function one(a int) returns void language sql as $$ $$;\n\n"
        "create trigger one after insert on events_event for each row execute function one();\n"
    ),
    "web/page.py": '"""A page."""\n',
    "tests/house/test_private_members.py": 'MEMBERS = {"x": ["x:_a", "x:_b"], "y": ["y:_c"]}\n',
}


def checkout(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "A line" + "." * 70]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


def test_the_facts_of_a_checkout(tmp_path: Path) -> None:
    numbers = facts.facts(checkout(tmp_path, FILES))
    assert numbers["Python files of the product"] == "3"
    assert numbers["lines in them"] == "4"
    assert numbers["comments per 100 lines"] == "25.0"
    assert numbers["names at the top"] == "2"
    assert numbers["functions of PostgreSQL"] == "2"
    assert numbers["bodies, with those in migrations"] == "2"
    assert (numbers["triggers"], numbers["migrations"], numbers["SQL files"]) == ("1", "1", "1")
    assert numbers["private members of libraries"] == "3"
    assert numbers["prose: nobody"] != "0.0 / 0.0"
    assert numbers["first lines of commits above 72"] == "1 of 1"


def test_two_checkouts_side_by_side(tmp_path: Path) -> None:
    before = checkout(tmp_path / "before", FILES)
    rest = {name: text for name, text in FILES.items() if not name.startswith(("web", "tests"))}
    table = facts.table(before, checkout(tmp_path / "after", rest)).splitlines()
    assert ["names", "at", "the", "top", "2", "1"] in [line.split() for line in table]
    assert ["private", "members", "of", "libraries", "3", "-"] in [line.split() for line in table]
