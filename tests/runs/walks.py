"""Counts the functions of ours that one act calls on its way: a walk, in the order first called."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from agui_host.backends.postgres import bridge
from agui_host.backends.stream_limit import Seats
from agui_host.protocol import ids
from agui_host.web import asgi
from events.hub import Hub
from tests.house.repository import PACKAGES, ROOT

CHORES = frozenset(
    step.__code__ for step in (Hub.check_once, Seats._tend, ids.above, ids.uuid7_seconds)
)
"""What a process does by the clock: on a busy machine an act lasts until then.

The last two are for an id in the millisecond of the one before.
"""
_chore = ContextVar("chore", default=False)


class Walk:
    """What was called while it was recorded: each function once, by module.

    Comprehensions, lambdas and what dataclasses generate are no functions of ours. What a chore
    calls is no part of the act, in other tasks and threads neither: those have its context.
    """

    def __init__(
        self,
        name: str,
        *,
        rooms: tuple[str, ...] = PACKAGES,
        inside: Callable[..., Any] | None = None,
        until: Callable[..., Any] | None = None,
    ) -> None:
        """``inside``: only what it calls counts, from its call to its end or that of ``until``."""
        self.name = name
        self._codes: dict[CodeType, None] = {}
        self._rooms = tuple(f"{ROOT / room}/" for room in rooms)
        self._root: CodeType | None = inside.__code__ if inside else None
        self._last: CodeType | None = until.__code__ if until else None
        self._within = threading.local()
        self._chores: dict[FrameType, Token[bool]] = {}
        self._on = False

    @property
    def steps(self) -> list[tuple[str, str]]:
        """(module, function) of each."""
        return [
            (
                Path(code.co_filename).relative_to(ROOT).with_suffix("").as_posix(),
                code.co_qualname,
            )
            for code in list(self._codes)
        ]

    @property
    def modules(self) -> list[str]:
        """The modules that were passed, each once."""
        return list(dict.fromkeys(module for module, _ in self.steps))

    def __str__(self) -> str:
        head = f"{self.name}: {len(self.steps)} functions in {len(self.modules)} modules"
        return "\n".join([head, *(f"  {module}: {name}" for module, name in self.steps)])

    @contextmanager
    def recorded(self) -> Iterator["Walk"]:
        """Record what this thread, and threads that begin meanwhile, call of ours."""
        bridge._pool.cache_clear()  # its threads began before, and so did those of views
        asgi.views.idle.clear()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        self._on = True
        try:
            yield self
        finally:
            self._on = False
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            bridge._pool.cache_clear()

    def pause(self) -> None:
        """Count nothing until ``go_on``."""
        self._on = False

    def go_on(self) -> None:
        """Count again."""
        self._on = True

    def forget(self) -> None:
        """Begin with no steps again."""
        self._codes.clear()

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code in CHORES:  # a coroutine is called and returns around each of its pauses
            if event == "call":
                self._chores[frame] = _chore.set(True)
            elif event == "return" and frame in self._chores:
                _chore.reset(self._chores.pop(frame))
        if code is self._root and event in ("call", "return"):
            self._within.inside = event == "call"
        if code is self._last:
            self._within.inside = False
        if event != "call" or not self._on or _chore.get():
            return
        if self._root is not None and not getattr(self._within, "inside", False):
            return
        if code.co_filename.startswith(self._rooms) and not code.co_name.startswith("<"):
            self._codes.setdefault(code)
