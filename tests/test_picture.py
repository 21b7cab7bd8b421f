"""The picture of imports is current; between rooms, and between folders, there is no circle."""

from tests import picture
from tests.house import repository


def test_the_picture_is_current() -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.drawn(), "run: make picture"


def test_there_is_no_circle_between_rooms_or_between_folders() -> None:
    pairs = picture.imports()
    rooms = picture.between((picture.room_of(one), picture.room_of(other)) for one, other in pairs)
    assert picture.circle(rooms) == []
    for room in repository.PACKAGES:
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
