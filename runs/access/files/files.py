"""A team's files as callers see, upload and delete them.

The uploader sees a file, and so does everyone who sees a thread that refers to it: a file in
a private thread is as private as the thread.
"""

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from agui_host.errors import Conflict, NotFound
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.teams import audit, authentication
from agui_host.teams.access import members
from agui_host.teams.actors import Actor
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle.deletion.erasure import LegalHold
from runs.lifecycle.files import references, uploads
from runs.lifecycle.files.references import UnknownFile
from runs.models import File, FileReference


class FileInUse(Conflict):
    """Threads refer to this file; erase them first."""

    code = "file_in_use"


def visible(principal: Principal) -> QuerySet[File]:
    """The files that the principal may see. Raises Forbidden."""
    principal.require("view")
    threads = access.visible_threads(principal).values("pk")
    shown_in = FileReference.objects.for_team(principal.team).filter(
        file=OuterRef("pk"), thread__in=threads
    )
    own = Q(creator=principal.actor_id) if principal.bound is None else Q(pk__in=())
    in_use = FileReference.objects.for_team(principal.team).filter(file=OuterRef("pk"))
    rows = references.stored(principal.team).annotate(in_use=Exists(in_use))
    return rows.filter(own | Exists(shown_in))


def find(principal: Principal, file_id: UUID) -> File:
    """One of them. Raises NotFound, Forbidden."""
    row = visible(principal).filter(pk=file_id).first()
    if row is None:
        raise NotFound("There is no such file.")
    return row


def still_visible(principal: Principal, file_id: UUID) -> bool:
    """Checked while a file is sent: the current credential, and its rights."""
    now = authentication.refreshed(principal)
    return now is not None and now.can("view") and visible(now).filter(pk=file_id).exists()


def check(principal: Principal, request: RunRequest) -> None:
    """Let a request refer to files that its sender sees, and no others. Raises UnknownFile."""
    if ids := references.of_input(request):
        known = visible(principal).filter(pk__in=ids).values_list("pk", flat=True)
        if unknown := set(ids) - set(known):
            raise UnknownFile.of(unknown)


def reserve(principal: Principal, name: str, size: int) -> File:
    """Room for an upload of at most ``size`` bytes. Raises Forbidden, FilesFull."""
    principal.require("run")
    with members.holding(principal) as now:
        now.require("run")
        return uploads.reserve(now.team, Actor(now.label, now.actor_id), name, size)


def complete(
    principal: Principal, file: File, *, name: str, media_type: str, size: int, sha256: str
) -> File:
    """The uploaded file, once all of it is stored. Raises NotFound, Forbidden."""
    with members.holding(principal) as now:
        now.require("run")
        if not uploads.complete(file, name, media_type, size, sha256):
            raise NotFound("The upload took too long, or its team is gone.")
        details = {"media_type": media_type, "bytes": size}
        audit.record(principal, now.team, "file.uploaded", str(file.pk), **details)
    return find(principal, file.pk)


def delete(principal: Principal, file_id: UUID) -> None:
    """Delete a file that no thread refers to. Raises NotFound, Forbidden, FileInUse, LegalHold."""
    file = find(principal, file_id)
    principal.require("run" if file.creator == principal.actor_id else "delete")
    with transaction.atomic():
        rows = references.stored(principal.team).select_for_update(of=("self",))
        if (row := rows.select_related("team").filter(pk=file_id).first()) is None:
            raise NotFound("There is no such file.")
        if row.team.legal_hold:
            raise LegalHold
        if FileReference.objects.filter(file=row).exists():
            raise FileInUse
        uploads.expire(row)
        audit.record(principal, principal.team, "file.deleted", str(file_id))
