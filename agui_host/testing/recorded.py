"""The effects of a recorded run, given to ``ctx.once`` in place of calls."""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.effects import Kept


class NotRecorded(RunFailed):
    """The agent wants an effect whose result the recorded run does not have."""

    def __init__(self, message: str) -> None:
        super().__init__(RunErrorCode.EFFECT_CONFLICT, message)


class Recorded:
    """A ``Store`` of effects that have happened: no effect is ever called.

    ``missing`` is the first effect without a recorded result, in words.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """``rows``: ``{"key", "digest", "status", "value"}``, the value as JSON text."""
        self._effects = {
            row["key"]: Kept(row["status"], row["digest"], row["value"]) for row in rows
        }
        self.missing: str | None = None

    async def earlier(self) -> tuple[set[str], int]:
        """All of them; none is added."""
        return set(self._effects), 0

    async def begin(self, key: str, digest: str, again: bool) -> Kept:
        """The recorded effect. Raises NotRecorded, also for other arguments."""
        effect = self._effects.get(key)
        if effect is None:
            raise self._lacking(f"ctx.once({key!r}) is called, and the recorded run never did")
        if effect.digest != digest:
            raise self._lacking(f"ctx.once({key!r}) is called with other arguments than recorded")
        if effect.status != "done":
            raise self._lacking(f"ctx.once({key!r}) has no recorded value: it is {effect.status}")
        return effect

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """Keep nothing: the recorded effects have ended."""

    def _lacking(self, message: str) -> NotRecorded:
        self.missing = self.missing or message
        return NotRecorded(message)
