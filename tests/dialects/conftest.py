"""The cast, and a worker's writer."""

from tests.cast import bell, cast, register, writer
from tests.runs.playing import play

__all__ = ["bell", "cast", "play", "register", "writer"]
