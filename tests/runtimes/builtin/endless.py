"""Work that never ends, for the child process that does it."""

import os
from collections.abc import Iterator


def work(argument: object) -> Iterator[int]:
    """Says who it is, then holds the interpreter."""
    yield os.getpid()
    while True:
        pass


def memory(argument: object) -> Iterator[int]:
    """Takes more and more of it."""
    taken = []
    while True:
        taken.append(bytes(100_000_000))
    yield 0
