"""A thread, its live runs, and its settings: title, tags, whether it is archived, who sees it.

A private thread whose creator has left the team is visible to no other person: an owner of the team
hands it over to a member, or erases it, without reading it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat

from agui_host.backends.postgres import clock
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import user_id
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Membership
from agui_host.teams.revocation import revoked
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.lifecycle import descendants
from runs.lifecycle.deletion import erasure
from runs.lifecycle.words import storing
from runs.models import ACTIVE, Run, Thread, Visibility

LONGEST_TAG = 60
MOST_TAGS = 20


class NotLeft(NotFound):
    """There is no such thread that its creator left behind."""


def find(principal: Principal, key: UUID) -> Thread:
    """A thread of the team that the principal sees. Raises NotFound."""
    thread = faced(access.visible_threads(principal)).filter(pk=key).first()
    if thread is None:
        raise NotFound("There is no such thread.")
    return thread


def active(principal: Principal, thread_id: str) -> list[Run]:
    """The runs of a thread that have not ended, oldest first; none for an unknown thread."""
    runs = access.visible(principal).filter(thread__thread_id=thread_id, status__in=ACTIVE)
    return list(runs.order_by("journal_id"))


def faced(rows: TeamQuerySet[Thread]) -> TeamQuerySet[Thread]:
    """The threads with the previews of their newest runs, and their first questions.

    A run that only answers a question of the agent's asks nothing: the question before it stays.
    For threads of which the reader sees all runs.
    """
    newest = Run.objects.filter(pk=OuterRef("newest"))
    runs = Run.objects.filter(thread=OuterRef("pk"))
    asking = runs.filter(asked__gt="").order_by("journal_id")
    latest = asking.reverse().values("asked")[:1]
    listed: TeamQuerySet[Any] = rows.annotate(
        asked=Subquery(latest),
        answered=Subquery(newest.values("answered")),
        first_question=Subquery(asking.values("asked")[:1]),
    )
    return listed


def title_of(thread: Any) -> str:
    """The title of a thread of ``faced``: the one it was given, else its first question."""
    return thread.title or thread.first_question or ""


def change(principal: Principal, key: UUID, changes: Mapping[str, Any]) -> Thread:
    """Set ``title``, ``tags``, ``archived`` and ``visibility``, if present.

    Only the person who began a thread decides who sees it, and no end user. Raises NotFound,
    Forbidden.
    """
    thread = find(principal, key)
    access.require(principal, "run")
    access.require_thread(principal, thread.thread_id)
    changed = {name: changes[name] for name in ("title", "tags", "visibility") if name in changes}
    moves = changed.get("visibility", thread.visibility) != thread.visibility
    if moves and (principal.end_user or not access.is_creator(principal, thread)):
        raise Forbidden("Only the person who started a thread can change who sees it.")
    if "archived" in changes and changes["archived"] != (thread.archived_at is not None):
        changed["archived_at"] = clock.now() if changes["archived"] else None
    with transaction.atomic():
        for name, value in changed.items():
            setattr(thread, name, value)
        thread.save(update_fields=list(changed))
        if "title" in changed:
            storing.renamed(thread)
        if moves:
            visibility = Visibility(changed["visibility"]).value
            begun = Thread.objects.for_team(thread.team).filter(pk__in=descendants.of(thread))
            begun.update(visibility=visibility)
            revoked(thread.team_id)
            audit.record(
                principal, thread.team, "thread.visibility", str(thread.pk), visibility=visibility
            )
    return thread


def retag(principal: Principal, key: UUID, *, add: str = "", remove: str = "") -> bool:
    """Add a tag to a thread, or remove one; False if nothing is to be done.

    Raises NotFound, Forbidden, and Invalid for more than 20 tags.
    """
    with transaction.atomic():
        # Two people who tag a thread at once both have their tag.
        rows = access.visible_threads(principal).select_for_update(of=("self",))
        tags = rows.filter(pk=key).values_list("tags", flat=True).first()
        if tags is None:
            raise NotFound("There is no such thread.")
        left = [tag for tag in tags if tag != remove]
        result = [*left, add] if add and add not in left else left
        if len(result) > MOST_TAGS:
            raise Invalid(f"A thread has at most {MOST_TAGS} tags.", details={"path": "tag"})
        if result == tags:
            access.require(principal, "run")
            return False
        change(principal, key, {"tags": result})
    return True


def left_behind(principal: Principal) -> TeamQuerySet[Thread]:
    """The private threads whose creators have left the team or were deactivated.

    A key's thread counts as its maker's. Raises Forbidden unless the principal owns the team.
    """
    principal.require("manage_team")
    present = Membership.objects.for_team(principal.team).filter(user__is_active=True)
    gone = ApiKey.objects.for_team(principal.team).filter(created_by__isnull=False)
    gone = gone.exclude(created_by__in=present.values("user"))
    rows: TeamQuerySet[Thread] = Thread.objects.for_team(principal.team)
    return rows.filter(visibility=Visibility.PRIVATE).filter(
        Q(creator__startswith="user:") & ~Q(creator__in=_actors("user", present, "user"))
        | Q(creator__in=_actors("key", gone, "pk"))
    )


def hand_over(principal: Principal, key: UUID, member_id: int) -> Thread:
    """Make a member the creator of a thread of ``left_behind``, and of threads that it began.

    Raises NotFound, Forbidden, and Invalid for a deactivated member.
    """
    with members.holding(principal) as now:
        rows = left_behind(now).select_for_update(of=("self",))
        thread = rows.filter(pk=key).first()
        if thread is None:
            raise NotLeft
        heir = members.find(now, member_id).user
        if not heir.is_active:
            raise Invalid("This person is deactivated.", details={"path": "member"})
        was, thread.creator = thread.created_by, user_id(heir.pk)
        begun = left_behind(now).filter(pk__in=descendants.of(thread)).values_list("pk", flat=True)
        keys = [thread.pk, *begun]
        Thread.objects.for_team(now.team).filter(pk__in=keys).update(creator=thread.creator)
        audit.record(
            principal, now.team, "thread.handed_over", str(thread.pk), to=heir.get_username(),
            was=was,
        )  # fmt: skip
        revoked(now.team.pk)
    return thread


def erase(principal: Principal, key: UUID) -> None:
    """Erase a thread of ``left_behind``. Raises NotFound, Forbidden, LegalHold, ThreadBusy."""
    with members.holding(principal) as now:
        thread = left_behind(now).filter(pk=key).first()
        if thread is None:
            raise NotLeft
        erasure.erase_thread(principal, thread)


def _actors(kind: str, rows: QuerySet[Any], of: str) -> Any:
    """The ``actor_id``s of these people or keys."""
    name = Concat(Value(f"{kind}:"), Cast(of, CharField()), output_field=CharField())
    return rows.order_by().annotate(actor=name).values("actor")
