"""Our own server-sent events taken apart again, for wires that frame them in another way."""

from collections.abc import Iterator


def blocks(sse: bytes) -> Iterator[tuple[bytes | None, bytes]]:
    """The data of events, each with its id if it has one; those without data are left out."""
    for block in sse.split(b"\n\n")[:-1]:
        *head, line = block.split(b"\n")  # A payload contains no line breaks.
        ids = [each.removeprefix(b"id: ") for each in head if each.startswith(b"id: ")]
        if line.startswith(b"data: "):
            yield ids[-1] if ids else None, line.removeprefix(b"data: ")
