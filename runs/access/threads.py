"""What people set on a thread: its title, its tags, whether it is archived, and who sees it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from agui_project.errors import Forbidden, NotFound
from backends.postgres import clock
from protocol.errors import Invalid
from runs.access import access
from runs.lifecycle import descendants
from runs.lifecycle.words import storing
from runs.models import Thread, Visibility
from teams import audit
from teams.authentication import Principal
from teams.revocation import revoked

LONGEST_TAG = 60
MOST_TAGS = 20


def find(principal: Principal, key: UUID) -> Thread:
    """A thread of the team that the principal sees. Raises NotFound."""
    thread = access.visible_threads(principal).filter(pk=key).first()
    if thread is None:
        raise NotFound("There is no such thread.")
    return thread


def change(principal: Principal, key: UUID, changes: Mapping[str, Any]) -> Thread:
    """Set ``title``, ``tags``, ``archived`` and ``visibility``, if present.

    Only the person who began a thread decides who sees it. Raises NotFound, Forbidden.
    """
    thread = find(principal, key)
    access.require(principal, "run")
    access.require_thread(principal, thread.thread_id)
    changed = {name: changes[name] for name in ("title", "tags", "visibility") if name in changes}
    moves = changed.get("visibility", thread.visibility) != thread.visibility
    if moves and not access.is_creator(principal, thread):
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
