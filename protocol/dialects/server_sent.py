"""Our own server-sent events taken apart again, for wires that frame them in another way."""

from collections.abc import Iterator


def blocks(sse: bytes) -> Iterator[tuple[int | None, bytes]]:
    """The data of events, each with its id if it has one; those without data are left out."""
    for block in sse.split(b"\n\n")[:-1]:
        head, _, line = block.rpartition(b"\n")  # A payload contains no line breaks.
        if line.startswith(b"data: "):
            yield int(head.removeprefix(b"id: ")) if head else None, line.removeprefix(b"data: ")
