"""The positions of a program, in a file that outlives it."""

from itertools import pairwise
from pathlib import Path

from agui_client.cursors import Cursors, behind, seq_of


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


def test_a_cursor_is_kept_as_the_host_wrote_it(tmp_path: Path) -> None:
    """Of a later epoch it is a text, which is newer than all of those before."""
    cursors = Cursors(tmp_path / "cursors")
    for older, newer in pairwise([7, "2-9", "2-10", "10-3"]):
        cursors.save("run", newer)
        cursors.save("run", older)
        assert cursors.get("run") == newer
    cursors.restart("run")
    cursors.restart("feed")
    assert cursors.get("run") == cursors.get("feed") == 0
    cursors.save("run", 1)
    assert cursors.get("run") == 1
    cursors.close()


def test_the_frames_of_a_socket_have_no_cursor() -> None:
    assert (behind(4, 3), behind("2-9", 1), behind("0", 1)) == (7, "2-10", 1)
    assert [seq_of(cursor) for cursor in (5, "5", "2-5")] == [5, 5, 5]
