"""The one file of a multipart form, whatever the pieces in which it comes."""

import pytest

from agui_host.protocol.errors import BadRequest, UnknownMember
from agui_host.web.consumers.files.form import LONGEST_FIELDS, LONGEST_HEADER, MOST_PARTS, Form

FILE = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain'


def body(*parts: tuple[str, bytes]) -> bytes:
    pieces = [b"--B\r\n%b\r\n\r\n%b\r\n" % (head.encode(), data) for head, data in parts]
    return b"".join([*pieces, b"--B--\r\n"])


def read(data: bytes, size: int) -> tuple[bytes, Form]:
    form = Form(b"B")
    content = b"".join(form.feed(data[at : at + size]) for at in range(0, len(data), size))
    form.finish()
    return content, form


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_the_file_is_found_in_pieces_of_any_size(size: int) -> None:
    part = "Content-Disposition: form-data"
    data = body((part, b"ignored"), (FILE, b"line\r\n--BX not the end\r\n"), (part, b"too"))
    content, form = read(data, size)
    assert content == b"line\r\n--BX not the end\r\n"
    assert (form.name, form.media_type) == ("a.txt", "text/plain")


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("name", ["fil", "expires", "no such field" * 10])
def test_a_field_in_addition_to_the_file_is_refused(name: str, is_first: bool) -> None:
    parts = [(FILE, b"a"), (f'Content-Disposition: form-data; name="{name}"', b"1")]
    data = body(*reversed(parts)) if is_first else body(*parts)
    with pytest.raises(UnknownMember) as raised:
        read(data, 7)
    nearest = "file" if name == "fil" else None
    assert raised.value.details == {"path": name[:60], "nearest": nearest, "known": ["file"]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (body((FILE, b"a"), (FILE, b"b")), "one file"),
        (b"no form at all", "not valid"),
        (body(('X: form-data; name="note"', b"x" * (LONGEST_FIELDS + 1))), "fields of the form"),
        (body((f"X: {'x' * LONGEST_HEADER}x", b"")), "headers of a part|not valid"),
        (body(("X: 1\r\n" * 22 + "Y: 1", b"")), "headers of a part|not valid"),
        (body(("Content-Disposition: form-data", b"x")), "no file"),
        (body(*[("X: 1", b"")] * (MOST_PARTS + 1)), "at most 100 parts"),
        (body(*[(f"X: {'x' * 3_000}", b"")] * 95), "in addition to its file"),
        (body((FILE, b"a"))[:-4], "before its last boundary"),
    ],
    ids=[
        "two files",
        "no form",
        "fields",
        "a header",
        "headers",
        "no file",
        "parts",
        "frame",
        "no end",
    ],
)
def test_what_is_no_form_with_one_file_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(BadRequest, match=problem):
        read(data, len(data))
