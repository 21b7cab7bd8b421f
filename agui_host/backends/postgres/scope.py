"""Whose rows the statements of a context can touch: what PostgreSQL's policies ask for (ADR 0004).

A request begins with no team at all and gets that of its credential; a run has its team's. Work
that belongs to no team (a worker's claims, the reaper, a command) reaches all of them. The context
is copied into threads and tasks, and ``postgres.cursors`` sends it to the server with each
statement, so nothing of it stays on a connection.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

ALL = "*"


class Scope:
    """The teams of a request or run. Threads and tasks share it, so what one learns all know.

    ``lane`` is who takes turns with others for the threads that all share: a team, or an address.
    """

    def __init__(self, *teams: UUID) -> None:
        self._teams = set(teams)
        self.text = ",".join(map(str, teams))
        self.lane = f"team:{teams[0]}" if teams else ""

    def add(self, team: UUID) -> None:
        """Reach this team as well."""
        if team not in self._teams:
            self._teams.add(team)
            self.text = ",".join(map(str, self._teams))


_scope: ContextVar[Scope | None] = ContextVar("_scope", default=None)
_lane: ContextVar[str] = ContextVar("_lane", default="")
_everywhere: ContextVar[bool] = ContextVar("_everywhere", default=False)


def current() -> str:
    """The ids of the teams, with commas between them, or ``ALL``."""
    scope = _scope.get()
    return ALL if scope is None or _everywhere.get() else scope.text


@contextmanager
def limited(*teams: UUID) -> Iterator[None]:
    """Reach only these teams in this block, and teams that ``reach`` adds."""
    token = _scope.set(Scope(*teams))
    try:
        yield
    finally:
        _scope.reset(token)


@contextmanager
def everywhere() -> Iterator[None]:
    """Reach all teams in this block."""
    token = _everywhere.set(True)
    try:
        yield
    finally:
        _everywhere.reset(token)


def reach(team: UUID) -> None:
    """Let the current request reach this team: its credential's, or one by a share."""
    if (scope := _scope.get()) is not None:
        scope.add(team)


def count_for(caller: str) -> None:
    """Let the calls of the current request take their turns as this caller's."""
    if (scope := _scope.get()) is not None:
        scope.lane = caller


def lane() -> str:
    """The caller as whom the current call takes its turns; empty for the host's own work."""
    if caller := _lane.get():
        return caller
    scope = _scope.get()
    return scope.lane if scope is not None else ""


def take_turns_as(caller: str) -> None:
    """Let the calls of the current task take their turns as this caller's, whatever they reach."""
    _lane.set(caller)


def is_limited() -> bool:
    """Whether this context belongs to a request or run."""
    return _scope.get() is not None
