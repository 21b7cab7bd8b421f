"""The people who have the page of a thread open: in the cache, for some seconds after a pulse."""

from uuid import UUID

from django.core.cache import cache

from agui_host.teams.authentication import Principal

SECONDS = 15
"""An open page asks every 3 s, a hidden one not at all; who has left is gone after this time."""
REMEMBERED = 3600
MOST = 20


def others(principal: Principal, key: UUID) -> list[str]:
    """Note that the principal, who may see the thread, has its page open; the names of the others.

    Only of the principal's team: a grant does not tell its readers the thread's people.
    Two people who come at the same moment can hide one of them until the next pulse.
    """
    me, team = principal.actor_id, f"team:{principal.team.pk}"
    cache.set(_of(key, me), 1, SECONDS)
    people: dict[str, str] = cache.get(_of(key, team), {})
    there = {who: name for who, name in people.items() if who == me or cache.get(_of(key, who))}
    if me not in there:
        there = {**dict(list(there.items())[-MOST + 1 :]), me: principal.name}
    if there != people:
        cache.set(_of(key, team), there, REMEMBERED)
    return sorted(name for who, name in there.items() if who != me)


def _of(key: UUID, who: str) -> str:
    return f"present.{key}.{who}"
