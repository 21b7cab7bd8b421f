"""What people set on a thread: its title, its tags, whether it is archived, and who sees it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agui_project.errors import Forbidden, NotFound
from runs.access import access
from runs.lifecycle import descendants
from runs.models import Thread, Visibility
from teams import audit
from teams.authentication import Principal
from teams.revocation import revoked


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
        changed["archived_at"] = timezone.now() if changes["archived"] else None
    with transaction.atomic():
        for name, value in changed.items():
            setattr(thread, name, value)
        thread.save(update_fields=list(changed))
        if moves:
            visibility = Visibility(changed["visibility"]).value
            begun = Thread.objects.for_team(thread.team).filter(pk__in=descendants.of(thread))
            begun.update(visibility=visibility)
            revoked(thread.team_id)
            audit.record(
                principal, thread.team, "thread.visibility", str(thread.pk), visibility=visibility
            )
    return thread
