"""The positions of a program, in a file that outlives it."""

from pathlib import Path

from agui_client.cursors import Cursors


def test_a_position_outlives_the_program_and_never_moves_back(tmp_path: Path) -> None:
    path = tmp_path / "cursors"
    first = Cursors(path)
    assert first.get("run") is None
    first.save("run", 7)
    first.save("run", 3)
    first.save("feed", 0)
    first.close()
    second = Cursors(path)
    assert (second.get("run"), second.get("feed")) == (7, 0)
    second.forget("run")
    assert second.get("run") is None
    second.save("run", 2)
    assert second.get("run") == 2
    second.close()


def test_two_processes_share_the_file(tmp_path: Path) -> None:
    one, other = Cursors(tmp_path / "cursors"), Cursors(str(tmp_path / "cursors"))
    one.save("run", 5)
    other.save("run", 4)
    assert one.get("run") == other.get("run") == 5
    one.close()
    other.close()
