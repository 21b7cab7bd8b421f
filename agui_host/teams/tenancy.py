"""Everything a team owns is reached through ``for_team``; nothing else is scoped by hand.

The backstop: a query for such objects that names no team is refused when it would run. It may run
in these cases:

- ``for_team(team)``, or a keyword ``team=``;
- a keyword whose value is an object of a team (``filter(thread=thread)``), or the manager of such
  an object (``run.interrupts``): code that has the object was allowed to get it;
- a method that names why one query needs no team (``already_found`` and the six below it);
  ``with operator_code("why")`` for all queries in a block.

It watches querysets. Raw SQL, ``Model._base_manager`` (which follows foreign keys and cascades) and
``save`` or ``delete`` of a loaded object bypass it, and so does a keyword on the far side of a
join; the tests of ``tests/tenancy`` cover these.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any, Self, TypeVar, cast

from django.db import models
from django.http import HttpRequest, HttpResponse

from agui_host.backends.postgres import scope

M = TypeVar("M", bound=models.Model)

_operator: ContextVar[str] = ContextVar("operator", default="")


class Unscoped(RuntimeError):
    """A query for objects of teams named no team: use ``for_team``, or say why not."""


@contextmanager
def operator_code(reason: str) -> Iterator[None]:
    """Queries in this block may span teams; ``reason`` is for the reader of the code."""
    token = _operator.set(reason)
    try:
        with scope.everywhere():
            yield
    finally:
        _operator.reset(token)


class OperatorPages:
    """Middleware: Django's admin is for operators, who see all teams."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/admin/"):
            with operator_code("Django's admin"):
                return self.get_response(request)
        if scope.is_limited():  # by the gate, as all that the host serves
            return self.get_response(request)
        with scope.limited():
            return self.get_response(request)


def exempt() -> bool:
    """Whether an unscoped query may run anyway; tests replace this function."""
    return bool(_operator.get())


class TeamQuerySet(models.QuerySet[M]):
    """A queryset that checks whether it stays inside one team, and otherwise refuses to run."""

    _scoped = False
    _everywhere = False

    def for_team(self, team: "models.Model") -> Self:
        """Only the objects of ``team``: the single place where tenant scoping is written."""
        return self.filter(team=team)

    def unscoped(self, reason: str) -> Self:
        """This query may run without a team; ``reason`` is for the reader of the code."""
        copy = self.all()
        copy._scoped = copy._everywhere = True
        return copy

    def already_found(self) -> Self:
        """Rows by ids that a scoped query, or the caller's check of access, has returned before."""
        return self.unscoped("already found")

    def of_one_thread(self) -> Self:
        """Rows of a loaded thread, by its id."""
        return self.unscoped("of one thread")

    def of_one_person(self) -> Self:
        """One person's rows in all teams."""
        return self.unscoped("of one person")

    def by_secret(self) -> Self:
        """Rows by a secret, which identifies the team: a key, a ticket, a link."""
        return self.unscoped("by secret")

    def own_or_granted(self) -> Self:
        """The team's own rows, and rows that other teams have granted; the caller filters both."""
        return self.unscoped("own or granted")

    def of_any_team(self) -> Self:
        """Rows of all teams, for the host's own sweeps."""
        return self.unscoped("of any team")

    def for_operators(self) -> Self:
        """Rows of all teams, for a command of operators."""
        return self.unscoped("for operators")

    def _clone(self) -> Self:
        copy = cast(Self, super()._clone())  # type: ignore[misc]
        copy._scoped = self._scoped
        copy._everywhere = self._everywhere
        return copy

    def _filter_or_exclude(self, negate: bool, args: Any, kwargs: dict[str, Any]) -> Self:
        copy = cast(Self, super()._filter_or_exclude(negate, args, kwargs))  # type: ignore[misc]
        copy._scoped = copy._scoped or (not negate and any(map(_names_team, kwargs.items())))
        return copy

    def as_statement(self) -> tuple[str, tuple[Any, ...]]:
        """The query and its parameters, as a part of another statement.

        Raises Unscoped unless it names a team, and Django's EmptyResultSet.
        """
        self._guard()
        text, params = self.query.sql_with_params()
        return text, tuple(params)

    def _guard(self) -> None:
        hints: dict[str, Any] = vars(self)["_hints"]  # from the manager of a loaded object
        if not (self._scoped or "instance" in hints or self.query.is_empty() or exempt()):
            raise Unscoped(f"{Unscoped.__doc__} ({self.model._meta.label})")

    def _reaching(self) -> AbstractContextManager[None]:
        """What PostgreSQL's policies let the query see: all teams, if it has a reason."""
        return scope.everywhere() if self._everywhere else nullcontext()

    def _fetch_all(self) -> None:
        if self._result_cache is None:
            self._guard()
        with self._reaching():
            super()._fetch_all()

    def iterator(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The rows one by one. Raises Unscoped before the query unless it names a team."""
        self._guard()
        rows = super().iterator(*args, **kwargs)
        if not self._everywhere:
            return rows
        # The query runs with its first row; a generator would leave the block open between rows.
        with self._reaching():
            first = list(islice(rows, 1))
        return chain(first, rows)

    def exists(self) -> bool:
        """Whether there is a row. Raises Unscoped unless the query names a team."""
        self._guard()
        with self._reaching():
            return super().exists()

    def count(self) -> int:
        """How many rows there are. Raises Unscoped unless the query names a team."""
        self._guard()
        with self._reaching():
            return super().count()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Aggregates over the rows. Raises Unscoped unless the query names a team."""
        self._guard()
        with self._reaching():
            return super().aggregate(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        """Change the rows; how many. Raises Unscoped unless the query names a team."""
        self._guard()
        with self._reaching():
            return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows; how many, by model. Raises Unscoped unless the query names a team."""
        self._guard()
        with self._reaching():
            return super().delete()

    def create(self, **kwargs: Any) -> M:
        """In the scope of the query: after a search in all teams, a row can be made in any."""
        with self._reaching():
            return super().create(**kwargs)


def _names_team(keyword: tuple[str, Any]) -> bool:
    name, value = keyword
    return name in ("team", "team_id", "team__in") or isinstance(value, TeamOwned)


class TeamOwned(models.Model):
    """An object that belongs to exactly one team, and is deleted with it."""

    team = models.ForeignKey("teams.Team", on_delete=models.CASCADE, related_name="+")

    objects = TeamQuerySet.as_manager()

    class Meta:
        abstract = True

    def validate_unique(self, *args: Any, **kwargs: Any) -> None:
        """Unique values must be unique among all teams."""
        with operator_code("uniqueness"):
            super().validate_unique(*args, **kwargs)

    def validate_constraints(self, *args: Any, **kwargs: Any) -> None:
        """Unique values must be unique among all teams."""
        with operator_code("uniqueness"):
            super().validate_constraints(*args, **kwargs)
