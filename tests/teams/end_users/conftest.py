"""The cast, and a worker's writer."""

from tests.cast import bell, cast, register, writer

__all__ = ["bell", "cast", "register", "writer"]
