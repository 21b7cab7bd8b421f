"""May this principal read or act? Every route to a run checks here; other teams' runs give 404.

A thread belongs to its team, or is private: then only the person who began it sees it. Besides that
there are grants (``runs/models/grant.py``). An end user, for whom a key acts, sees only the threads
that they began. Lists and counts cover the own team's runs; a run that another team has shared is
found by its id.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.lookups import Exact

from agui_host.backends.postgres import clock, scope
from agui_host.backends.postgres.compiled import Compiled
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.ids import uuid7_floor
from agui_host.teams import audit, authentication, shapes
from agui_host.teams.actors import Acting, actor, credential_of, is_end_user
from agui_host.teams.authentication import Principal
from agui_host.teams.models import AuditEntry, Membership
from agui_host.teams.tenancy import TeamQuerySet
from runs.lifecycle.statements import new_run
from runs.models import Grant, Interrupt, Run, Thread, Visibility, without_bodies
from runs.models.grant import ACTIONS, live

M = TypeVar("M", bound=Model)
NOTED_EVERY = timedelta(minutes=1)


def visible(principal: Principal) -> TeamQuerySet[Run]:
    """The team's runs that this principal may see, as a queryset."""
    require(principal, "view")
    rows = Run.objects.for_team(principal.team).filter(
        _runs(principal, listed=True), _bound(principal)
    )
    return _joined(_for_agents(principal, rows, "thread"))


def of_seen_threads(principal: Principal) -> Q:
    """Which of the visible runs are in a thread that the principal also sees."""
    return _threads(principal, "thread__", listed=True)


def find(principal: Principal, run_id: UUID, action: str = "view") -> Run:
    """The run, if the principal may do ``action``. Raises NotFound; Forbidden if it is visible."""
    require(principal, "view")
    run = _one(principal, run_id)
    if run is None:
        raise NotFound("There is no such run.")
    scope.reach(run.team_id)  # another team's, where it was shared
    require_for(principal, action, run)
    _note_use(principal, run)
    return faced(principal, run)


def faced(principal: Principal, run: Run) -> Run:
    """The run without previews for a reader of it alone: they can be of messages before it."""
    if not (is_own(principal, run.thread) or run.begins_thread or sees_thread(principal, run)):
        run.asked = run.answered = ""
    return run


def find_to_feed(principal: Principal, run_id: UUID) -> Run:
    """The team's run, if the principal may feed it; it need not be allowed to view it."""
    require(principal, "ingest")
    rows = Run.objects.for_team(principal.team).filter(_runs(principal), _bound(principal))
    run = _joined(_for_agents(principal, rows, "thread")).filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run.")
    return run


def shared_runs(principal: Principal) -> QuerySet[Run]:
    """The runs that a link, a grant or a role leads to, newest first."""
    return _joined(_reachable(principal)).order_by("-journal_id")


def visible_threads(principal: Principal) -> TeamQuerySet[Thread]:
    """The team's threads that this principal may see, as a queryset.

    A credential for some agents sees only threads in which no other agent has answered: a reader of
    one run may get everything in its thread.
    """
    require(principal, "view")
    rows = Thread.objects.for_team(principal.team).filter(_threads(principal))
    if principal.bound is not None:
        rows = rows.none()  # A ticket opens streams of runs, and nothing else.
    return _for_agents(principal, rows, "pk")


def find_thread(principal: Principal, thread_id: str) -> Thread | None:
    """The team's thread of that name; None if it does not exist or belongs to someone else."""
    if "\0" in thread_id:  # PostgreSQL refuses it as a text, and no thread has such a name
        return None
    return visible_threads(principal).filter(thread_id=thread_id).first()


def require_thread(principal: Principal, thread_id: str, *, is_known: bool | None = None) -> bool:
    """Check that a run may be started under that name; whether there is such a thread.

    ``is_known``: what ``new_run.KNOWN`` has just said, if the caller has asked. Raises NotFound if
    it is private, and Forbidden if the principal sees only a part of it, or may only read it.
    """
    if not (new_run.knows_thread(principal.team.pk, thread_id) if is_known is None else is_known):
        return False  # the usual start costs no more than that
    thread = Thread.objects.for_team(principal.team).filter(thread_id=thread_id).first()
    if thread is None:
        return False
    if not is_own(principal, thread):
        actions = _granted(principal, Q(thread=thread))
        if not actions:
            raise NotFound("This thread belongs to someone else; choose another threadId.")
        if "run" not in actions:
            raise Forbidden("The share does not include permission to run.")
    if not visible_threads(principal).filter(pk=thread.pk).exists():
        raise Forbidden("You cannot continue this thread, because you can see only a part of it.")
    return True


def visible_interrupts(principal: Principal) -> TeamQuerySet[Interrupt]:
    """The team's questions that this principal may see, as a queryset."""
    require(principal, "view")
    rows = Interrupt.objects.for_team(principal.team).filter(_of_runs(principal))
    if principal.bound is not None:
        rows = rows.none()
    return _asked(_for_agents(principal, rows, "thread"))


def find_interrupt(principal: Principal, key: UUID, action: str = "view") -> Interrupt:
    """The question, if the principal may do ``action``. Raises NotFound; Forbidden if visible."""
    principal.require("view")
    own = Q(team=principal.team) & _of_runs(principal)
    shared = Q(thread__in=shares(principal, "thread")) | Q(run__in=shares(principal, "run"))
    rows = _for_agents(principal, Interrupt.objects.own_or_granted().filter(own | shared), "thread")
    interrupt = _asked(rows).filter(pk=key).first()
    if interrupt is None:
        raise NotFound("There is no such interrupt.")
    scope.reach(interrupt.team_id)
    require_for(principal, action, interrupt.run)
    return interrupt


def require(principal: Principal, action: str) -> None:
    """Raises Forbidden unless role and credential allow ``action``."""
    principal.require(action)


def require_for(principal: Principal, action: str, run: Run) -> None:
    """``require`` for an action on a run that the principal can view: by its role or a grant.

    Cancelling another person's run takes more than cancelling one's own.
    """
    own = is_own(principal, run.thread)
    others = action == "cancel" and run.starter != credential_of(principal)
    needed = [action, "cancel_others"] if others else [action]
    if own and all(map(principal.can, needed)):
        return
    if action in _granted(principal, Q(run=run) | Q(thread=run.thread_id)):
        return
    if not own:
        raise Forbidden(f"The share does not include permission to {action}.")
    for each in needed:
        require(principal, each)


def may(principal: Principal, action: str, run: Run) -> bool:
    """Whether ``require_for`` would pass: the actions that a page offers."""
    try:
        require_for(principal, action, run)
    except Forbidden:
        return False
    return True


def sees_thread(principal: Principal, run: Run) -> bool:
    """Whether the principal sees all of the run's thread; if not, it gets no history."""
    return is_own(principal, run.thread) or bool(_granted(principal, Q(thread=run.thread_id)))


def is_own(principal: Principal, thread: Thread) -> bool:
    """Whether the thread is visible without any grant; this takes no query."""
    if principal.kind == "link" or thread.team_id != principal.team.pk:
        return False
    if principal.end_user is not None:
        return thread.creator == principal.actor_id
    return thread.visibility == Visibility.TEAM or thread.creator == principal.actor_id


def open_to(actor_id: str, column: Callable[[str], Combinable] = F) -> Q:
    """Which threads of a member's or key's team it sees without any grant, as ``is_own``.

    ``column`` leads from the rows to a column of their thread.
    """
    own = Q(Exact(column("creator"), actor_id))
    of_team = Q(Exact(column("visibility"), Visibility.TEAM.value))
    return own if is_end_user(actor_id) else of_team | own


def is_creator(principal: Principal, thread: Thread) -> bool:
    """Whether the principal's run began this thread."""
    return thread.team_id == principal.team.pk and thread.creator == principal.actor_id


def readable(principal: Principal, run_ids: Collection[UUID]) -> set[UUID]:
    """Those of these runs that the principal may read now; none if its credential is gone."""
    now = principal if principal.kind == "link" else authentication.refreshed(principal)
    if now is None or not now.can("view"):
        return set()
    if now.kind != "link" and len(run_ids) == 1:
        compiled, whose = _by_id(shapes.of(now), whole=False), shapes.values(now)
        return {run_id for run_id in run_ids if compiled.first(run_id, *whose)}
    return set(_reachable(now).filter(pk__in=run_ids).values_list("pk", flat=True))


def grants_to(principal: Principal) -> QuerySet[Grant]:
    """The valid grants that give this principal access."""
    if principal.end_user is not None:
        return Grant.objects.none()
    rows = Grant.objects.own_or_granted().filter(live(), team__archived_at=None)
    if principal.kind == "link":
        rows = rows.filter(pk=principal.name, token_hash__isnull=False)
        if principal.user_id is None:
            return rows.filter(sign_in=False)
        signed_in = User.objects.filter(pk=principal.user_id, is_active=True).exists()
        return rows if signed_in else rows.filter(sign_in=False)
    to_me = Q(to_team=principal.team)
    if principal.user_id is not None:
        # However the membership ended, grants made through it ended with it.
        mine = Membership.objects.filter(
            team=OuterRef("through"),
            user=principal.user_id,
            user__is_active=True,
            team__archived_at=None,
        )
        to_me |= Q(Exists(mine), to_user=principal.user_id)
    return rows.filter(to_me)


def grants_for(principal: Principal, action: str) -> QuerySet[Grant]:
    """The valid grants that let a person or key do ``action``: ``_granted``, as rows."""
    levels = [level for level, actions in ACTIONS.items() if action in actions]
    rows = grants_to(principal).filter(level__in=levels)
    if principal.can(action):
        return rows
    return rows.filter(to_user__isnull=False) if principal.kind == "user" else rows.none()


def run_interrupts(run: Run) -> QuerySet[Interrupt]:
    """The questions of a run that the caller may see, in the order asked."""
    rows = Interrupt.objects.already_found().filter(run=run).order_by("pk")
    return _asked(rows).select_related("answering_run")


def _granted(principal: Principal, where: Q) -> frozenset[str]:
    """What grants allow: a person gets all of their level, others as far as their role goes."""
    allowed: set[str] = set()
    for grant in grants_to(principal).filter(where):
        actions = ACTIONS[grant.level]
        if principal.kind == "link":
            allowed |= actions if principal.user_id is not None else {"view"}
        elif principal.kind == "user" and grant.to_user_id is not None:
            allowed |= actions
        else:
            allowed |= set(filter(principal.can, actions))
    return frozenset(allowed)


def _note_use(principal: Principal, run: Run) -> None:
    """Record in the team's log who viewed a run by a grant; links are logged when opened."""
    if principal.kind == "link" or is_own(principal, run.thread):
        return
    used = grants_to(principal).filter(Q(run=run) | Q(thread=run.thread_id))
    for grant in used.select_related("team"):
        note_use(grant, principal, "grant.used", run=str(run.pk), from_team=principal.team.slug)


def note_use(grant: Grant, who: Acting | str, action: str, **details: Any) -> None:
    """Record that ``who`` used the grant; ``action`` is the audit log's name for that.

    At most once a minute for each visitor, so that not every request costs a write.
    """
    now = clock.now()
    lines = AuditEntry.objects.for_team(grant.team).filter(action=action, who=actor(who).label)
    since = uuid7_floor((now - NOTED_EVERY).timestamp())
    if lines.filter(target=str(grant.pk), pk__gt=since).exists():
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
    with transaction.atomic():
        rows = Grant.objects.already_found().filter(stale, pk=grant.pk)
        rows.update(last_used_at=now)
        audit.record(who, grant.team, action, str(grant.pk), **details)


def _one(principal: Principal, run_id: UUID) -> Run | None:
    """The run if the principal may read it. For who is signed in, a link's query looks that up."""
    if principal.kind == "link" and principal.user_id is not None:
        return _joined(_reachable(principal)).filter(pk=run_id).first()
    return _by_id(shapes.of(principal), whole=True).first(run_id, *shapes.values(principal))


@lru_cache(2 * shapes.SHAPES)
def _by_id(shape: shapes.Shape, *, whole: bool) -> Compiled[Run]:
    nobody = shape.nobody()
    rows = _joined(_reachable(nobody)) if whole else _reachable(nobody).only("pk")
    return Compiled(lambda pk, *_: rows.filter(pk=pk), uuid4(), *shapes.values(nobody))


def _reachable(principal: Principal) -> QuerySet[Run]:
    """The runs of the team, and runs that others have shared with the principal."""
    shared = Q(pk__in=shares(principal, "run")) | Q(thread__in=shares(principal, "thread"))
    if principal.kind == "link":
        return Run.objects.for_team(principal.team).filter(shared)
    own = Q(team=principal.team) & _runs(principal)
    rows = Run.objects.own_or_granted().filter(own | shared).filter(_bound(principal))
    return _for_agents(principal, rows, "thread")


def _bound(principal: Principal) -> Q:
    if principal.bound is None:
        return Q()
    run, thread = principal.bound
    return Q(pk=run) if run else Q(thread=thread)


def _for_agents(principal: Principal, rows: QuerySet[M], thread: str) -> TeamQuerySet[M]:
    # Without the threads in which an agent answered that the credential is not for.
    if principal.agents is not None:
        others = Run.objects.filter(thread=OuterRef(thread))
        rows = rows.exclude(Exists(others.exclude(agent__slug__in=principal.agents)))
    return rows  # type: ignore[return-value]


def _threads(principal: Principal, path: str = "", *, listed: bool = False) -> Q:
    """Which of the team's threads are visible; ``path`` leads from the rows to their thread.

    ``listed``: PostgreSQL looks at the thread of each run that it comes to. With a join it read all
    runs and threads of a team and sorted them, to take the newest.
    """
    shared = Q(**{f"{path}pk__in": shares(principal, "thread")})
    if principal.kind == "link":
        return shared
    own = Thread.objects.filter(pk=OuterRef("thread_id"))
    return shared | open_to(
        principal.actor_id,
        lambda name: Subquery(own.values(name)) if listed else F(f"{path}{name}"),
    )


def _runs(principal: Principal, *, listed: bool = False) -> Q:
    return _threads(principal, "thread__", listed=listed) | Q(pk__in=shares(principal, "run"))


def _of_runs(principal: Principal) -> Q:
    return _threads(principal, "thread__") | Q(run__in=shares(principal, "run"))


def shares(principal: Principal, what: str) -> QuerySet[Grant, int] | RawSQL | list[Any]:
    """The threads or the runs to which the grants of ``grants_to`` lead, for ``…__in``.

    Compiled once: each list contains it several times, and to build it took a third of a page.
    """
    if principal.kind == "link" and principal.user_id is not None:  # looks up who is signed in
        return _granted_keys(principal, what)
    return _compiled_keys(shapes.of(principal), what).within(*shapes.receiver(principal))


@lru_cache(2 * shapes.SHAPES)
def _compiled_keys(shape: shapes.Shape, what: str) -> Compiled[Grant]:
    nobody = shape.nobody()
    return Compiled(lambda *_: _granted_keys(nobody, what), *shapes.receiver(nobody))


def _granted_keys(principal: Principal, what: str) -> QuerySet[Grant, Any]:
    rows = grants_to(principal).filter(**{f"{what}__isnull": False})
    return rows.order_by().values_list(f"{what}_id", flat=True)


def _joined(runs: QuerySet[Run]) -> TeamQuerySet[Run]:
    return runs.select_related("thread", "agent", "journal")  # type: ignore[return-value]


def _asked(rows: QuerySet[Interrupt]) -> TeamQuerySet[Interrupt]:
    joined: TeamQuerySet[Interrupt] = rows.select_related(  # type: ignore[assignment]
        "team", "thread", "run__agent", "run__thread"
    )
    return without_bodies(joined, "run__")
