"""Judges a history: the record of everything that clients of a host received.

It uses Python's standard library only and imports nothing of the host. docs/histories.md describes
the lines of a history; ``python -m checker FILE`` in this folder's parent judges one.
"""

from .judge import check
from .lines import BadHistory, Line, read
from .violation import KINDS, Violation

__all__ = ["KINDS", "BadHistory", "Line", "Violation", "check", "read"]
