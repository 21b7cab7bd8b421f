"""The part of RunContext by which a run outlives its worker: ``once``, ``attempt``, ``so_far``."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from agui_host.runtimes.context.effects import (
    ANSWER,
    QUESTION,
    Effects,
    Memory,
    OnUnverified,
    digest_of,
)
from agui_host.runtimes.context.outbox import Outbox
from agui_host.runtimes.context.request import RunRequest
from agui_host.runtimes.context.so_far import SoFar


class Recovering(RunRequest):
    """``attempt`` is 1 for the worker that begins a run; ``so_far`` is empty for it."""

    outbox: Outbox
    attempt: int = 1
    so_far: SoFar = SoFar()

    def __init__(self, body: dict[str, Any], effects: Effects | None = None) -> None:
        super().__init__(body)
        self.effects = effects or Effects(Memory())

    @property
    def recovered(self) -> bool:
        """Whether an earlier attempt of this run has lost its worker, or handed it over."""
        return self.attempt > 1

    def once(
        self,
        key: str,
        fn: Callable[..., Any],
        *args: Any,
        on_unverified: OnUnverified = "retry",
        **kwargs: Any,
    ) -> Any:
        """``await ctx.once("charge", charge, 42)``: call ``fn`` once in this run, keep its value.

        A plain agent calls it without ``await``. The value is JSON, and is stored before this
        returns; a later attempt of the run gets it instead of a call. ``on_unverified`` is for an
        effect whose attempt was lost while it ran: it may have happened. ``retry`` calls it again,
        ``fail`` raises EffectUnverified, ``ask`` ends the run with a question to people. Raises
        EffectConflict if the key was used with other arguments, EffectTooLarge, and what ``fn``
        raises: then the next call of the key calls it again.
        """
        if on_unverified not in ("retry", "ask", "fail"):
            raise ValueError('on_unverified is "retry", "ask" or "fail"')
        digest = digest_of(key, args, kwargs)
        call = partial(fn, *args, **kwargs)
        with_all = (key, call, digest, on_unverified, self._ask_about, self.resumed)
        if self.outbox.is_foreign():
            return self.effects.once_in_thread(*with_all)
        return self.effects.once(*with_all)

    def _ask_about(self, key: str, question: str) -> NoReturn:
        self.interrupt(  # type: ignore[attr-defined]  # of RunContext
            QUESTION,
            f"The effect {key!r} was started, and its worker was lost. Did it happen?",
            ANSWER,
            metadata={"effect": key},
            id=question,
        )
        raise AssertionError("unreachable")
