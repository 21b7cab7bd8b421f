"""Which rows of tool calls and issues a reader sees: those of the runs that their list shows."""

from django.db.models import Q

from agui_host.teams.authentication import Principal
from runs.access import access
from runs.models import Run


def to_reader(principal: Principal, path: str = "", *, whole: bool = False) -> Q:
    """A condition on rows with a ``run`` and the ``owner`` of its private thread.

    ``path`` leads to these rows. It selects the same runs as ``access.visible``, mostly without
    reading them: a team can have a hundred thousand failures. ``whole``: only runs of threads that
    the reader also sees. Raises Forbidden.
    """
    access.require(principal, "view")
    mine = owners(principal)
    if mine is None:
        runs = access.visible(principal).order_by()
        if whole:
            runs = runs.filter(access.of_seen_threads(principal))
        return Q(**{f"{path}run__in": runs.values("pk")})
    threads = access.shares(principal, "thread")
    of_threads = Run.objects.for_team(principal.team).filter(Q(thread__in=threads)).order_by()
    rows = Q(**{f"{path}owner__in": mine})
    rows |= Q(**{f"{path}run__in": of_threads.values("pk")})
    if whole:
        return rows
    return rows | Q(**{f"{path}run__in": access.shares(principal, "run")})


def owners(principal: Principal) -> list[str] | None:
    """The owners of the rows that the principal sees without a share.

    None for a link, an end user, and a key for some agents, who see other parts of the team's.
    """
    is_plain = principal.bound is None and principal.agents is None and principal.end_user is None
    return ["", principal.actor_id] if is_plain and principal.kind != "link" else None
