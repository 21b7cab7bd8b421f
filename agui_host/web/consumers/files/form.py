"""The one file of a ``multipart/form-data`` body, found piece by piece."""

from email.message import Message

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser

from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.members import unknown

FIELD = "file"
LONGEST_HEADER = 8 * 1024
LONGEST_FIELDS = 64 * 1024
"""Bytes of parts without a filename, which are ignored."""
STRETCH = 64 * 1024
MOST_PARTS = 100
MOST_HEADERS = 20
"""Of one part."""
LONGEST_FRAME = 256 * 1024
"""Bytes of a form that are not the file: boundaries, headers, other fields, and a last part."""


class Form:
    """Feed it the body; ``name`` and ``media_type`` are known with the file's first piece.

    Raises BadRequest for a body that is no form, or has no file, or more than one; UnknownMember
    for a field in addition to the file.
    """

    def __init__(self, boundary: bytes) -> None:
        self.name: str | None = None
        self.media_type = ""
        self._header: list[bytearray] = [bytearray(), bytearray()]
        self._headers: list[tuple[str, str]] = []
        self._in_file = False
        self._passed = 0
        self._parts = 0
        self._frame = 0
        self._pieces: list[bytes] = []
        self._ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._collect(0, data[start:end]),
                "on_header_value": lambda data, start, end: self._collect(1, data[start:end]),
                "on_header_end": self._next_header,
                "on_headers_finished": self._know,
                "on_part_data": self._take,
                "on_end": self._end,
            },
        )

    def feed(self, data: bytes) -> bytes:
        """What belongs to the file in the next piece of the body."""
        # In stretches, so that a piece full of empty parts ends with its first part too many.
        stretches = (data[at : at + STRETCH] for at in range(0, len(data), STRETCH))
        return b"".join(map(self._feed, stretches))

    def _feed(self, data: bytes) -> bytes:
        try:
            self._parser.write(data)
        except MultipartParseError:
            raise BadRequest("The body is not valid multipart/form-data.") from None
        piece = b"".join(self._pieces)
        self._pieces.clear()
        self._frame += len(data) - len(piece)
        if self._frame > LONGEST_FRAME:
            raise BadRequest("The form holds too much in addition to its file.")
        return piece

    def finish(self) -> None:
        """Check that the form was complete, with one file in it."""
        if not self._ended:
            raise BadRequest("The form ends before its last boundary.")
        if self.name is None:
            raise BadRequest("The form contains no file: a part with a filename.")

    def _begin(self) -> None:
        self._headers, self._in_file = [], False
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadRequest(f"A form can have at most {MOST_PARTS} parts.")

    def _collect(self, place: int, data: bytes) -> None:
        self._header[place] += data
        if len(self._header[place]) > LONGEST_HEADER or len(self._headers) > MOST_HEADERS:
            raise BadRequest("The headers of a part are too long.")

    def _next_header(self) -> None:
        field, value = (bytes(each).decode(errors="replace") for each in self._header)
        self._headers.append((field.lower(), value))
        self._header = [bytearray(), bytearray()]

    def _know(self) -> None:
        part = Message()
        for field, value in self._headers:
            part[field] = value
        if (name := part.get_filename()) is None:
            self._refuse_field(part)
            return
        if self.name is not None:
            raise BadRequest("Send one file in a form.")
        self.name, self._in_file = name, True
        self.media_type = str(part.get("content-type", ""))

    def _refuse_field(self, part: Message) -> None:
        field = part.get_param("name", header="content-disposition")
        if isinstance(field, str) and field not in ("", FIELD):
            raise unknown(field, (FIELD,))

    def _take(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._pieces.append(data[start:end])
            return
        self._passed += end - start
        if self._passed > LONGEST_FIELDS:
            raise BadRequest("The fields of the form in addition to the file are too long.")

    def _end(self) -> None:
        self._ended = True
