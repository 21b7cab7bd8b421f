"""JSON Pointers (RFC 6901): how a step is written into one, and read from it."""

from collections.abc import Iterable


def pointer(path: Iterable[str | int]) -> str:
    """The JSON Pointer of a path; the empty one leads to the root."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def steps(pointer: str) -> list[str]:
    """The steps of a JSON Pointer; any text before its first ``/`` is left out."""
    parts = pointer.split("/")[1:]
    if "~" in pointer:
        return [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return parts
