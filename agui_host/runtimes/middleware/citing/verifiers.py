"""The verifiers of citations. To add one: a file, then its options and itself in two lines here."""

from typing import Any, Literal, Protocol

from pydantic import Field

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import Options
from agui_host.runtimes.middleware.citing.extract import Citation

Status = Literal["verified", "partial", "missed", "pending"]
STATUSES = frozenset({"verified", "partial", "missed", "pending"})
LONGEST_MATCH = 300


class Verifier(Protocol):
    """Made once per run; ``verify`` is called for several citations at once."""

    def __init__(self, options: Any, ctx: RunContext) -> None: ...

    async def verify(self, citation: Citation) -> dict[str, Any]:
        """``{status, score?, source?, match?, …}``; pending if it cannot decide."""
        ...

    async def aclose(self) -> None:
        """Release its resources."""
        ...


class LocalOptions(Options):
    """Compare with the run's own documents and context; scores are 0 to 100."""

    kind: Literal["local"] = "local"
    verified_at: float = Field(default=97, gt=0, le=100)
    partial_at: float = Field(default=75, gt=0, le=100)
