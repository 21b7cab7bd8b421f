"""The audit log: who did what, written in the transaction of the act and never changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from django.db import connection, transaction

from agui_project.request_id import ADDRESS
from agui_project.strict_json import dumps
from teams.models import AuditEntry, Team

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Labelled(Protocol):
    """A Principal, or whatever else has a label."""

    @property
    def label(self) -> str: ...


def record(who: Labelled | str, team: Team, action: str, target: str = "", **details: Any) -> None:
    """Note an act in the team's log, in the caller's transaction.

    ``who`` is a principal or its label, ``action`` a name like ``key.revoked`` (docs/audit.md
    lists them all), ``target`` the id or name of what was acted on. ``details`` are small JSON
    values: never secrets, and nothing that people or agents have said.
    """
    label = who if isinstance(who, str) else who.label
    AuditEntry.objects.create(
        team=team,
        who=label,
        action=action,
        target=target.replace("\x00", ""),
        details=dumps(details),
        address=ADDRESS.get(),
    )


def signed_in(sender: Any, *, user: "User", **kwargs: Any) -> None:
    """Note a sign-in in the log of every team that the person is in."""
    for team in Team.objects.filter(pk__in=user.memberships.values("team")):
        record(f"user:{user.get_username()}", team, "session.started")


@contextmanager
def erasing(team: Team) -> Iterator[None]:
    """A transaction in which the team's log may be deleted: with the team, and only then."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select set_config('agui.erasing_team', %s, true)", [str(team.pk)])
        yield
