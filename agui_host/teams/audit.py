"""The audit log: who did what, written in the transaction of the act and never changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from agui_host.backends.postgres import clock
from agui_host.protocol.strict_json import dumps
from agui_host.security.requester import ADDRESS
from agui_host.teams.actors import Acting, Actor, actor, credential_of, user_id
from agui_host.teams.models import AuditEntry, Team

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def record(who: Acting | str, team: Team, action: str, target: str = "", **details: Any) -> None:
    """Record an act in the team's log, in the caller's transaction."""
    line(who, team, action, target, **details).save(force_insert=True)


def line(
    who: Acting | str, team: Team, action: str, target: str = "", **details: Any
) -> AuditEntry:
    """An act as a line of the team's log, for the caller to store in its transaction.

    ``who`` is a principal, or the label of a part of the host; ``action`` a name like
    ``key.revoked`` (docs/audit.md lists them all), ``target`` the id or name of the object.
    ``details`` are small JSON values: never secrets, and never the words of people or agents. The
    line of a key that acts for an end user has that person's id as ``end_user``.
    """
    known = actor(who)
    if known.end_user is not None:
        details["end_user"] = known.end_user.sub
    return AuditEntry(
        id=clock.new_id(),
        team=team,
        who=known.label,
        actor=credential_of(known),
        action=action,
        target=target.replace("\x00", ""),
        details=dumps(details),
        address=ADDRESS.get(),
    )


def of_user(user: "User") -> Actor:
    """A person's label in the log."""
    return Actor(f"user:{user.get_username()}", user_id(user.pk))


@contextmanager
def erasing(team: Team) -> Iterator[None]:
    """A transaction in which the team's log may be deleted: with the team, and only then."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select set_config('agui.erasing_team', %s, true)", [str(team.pk)])
        yield
