"""The browsers in which a person is signed in, and signing one out."""

from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User

from agui_host.errors import Forbidden, NotFound
from agui_host.teams.accounts import events
from agui_host.teams.authentication import Principal


def listed(user: User) -> list[UserSession]:
    """The person's valid sessions, newest first."""
    return sorted(UserSession.objects.purge_and_list(user), key=lambda row: -row.pk)


def end(user: User, session_id: int) -> None:
    """Sign that browser out; its open streams end. Raises NotFound."""
    row = UserSession.objects.filter(user=user, pk=session_id).first()
    if row is None:
        raise NotFound("There is no such session.")
    row.end()
    events.note(user, "session.revoked", session=str(session_id))


def end_others(user: User, session_key: str | None) -> int:
    """Sign the person out everywhere except in the browser with that key; returns how many."""
    others = [row for row in listed(user) if row.session_key != session_key]
    for row in others:
        row.end()
    if others:
        events.note(user, "session.revoked", session="others")
    return len(others)


def person(principal: Principal) -> User:
    """The person whose sessions these are. Raises Forbidden for a key, which has none."""
    if principal.kind != "user" or principal.user_id is None:
        raise Forbidden("Only people have sessions; an API key has none.")
    return User.objects.get(pk=principal.user_id)
