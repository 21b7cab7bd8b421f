"""No source file is longer than 400 lines; one that grows past it is split by idea."""

from pathlib import Path

from tests.house import repository

CEILING = 400
SOURCES = {".py", ".html", ".css", ".js", ".mjs"}


def too_long(root: Path) -> list[str]:
    """The files above the ceiling, with their lengths. Migrations are generated."""
    found = []
    for path in repository.files(root):
        if path.suffix in SOURCES and "migrations" not in path.parts:
            lines = (root / path).read_text("utf-8").count("\n")
            found += [f"{path}: {lines} lines"] if lines > CEILING else []
    return found


def test_no_file_passes_the_ceiling() -> None:
    assert too_long(repository.ROOT) == []


def test_a_planted_file_is_found(tmp_path: Path) -> None:
    root = repository.copy(tmp_path)
    before = set(too_long(root))
    (root / "runs" / "planted.py").write_text("x = 1\n" * 401)
    (root / "runs" / "just_right.py").write_text("x = 1\n" * 400)
    (root / "runs" / "migrations" / "9999_long.py").write_text("x = 1\n" * 999)
    assert set(too_long(root)) - before == {"runs/planted.py: 401 lines"}
