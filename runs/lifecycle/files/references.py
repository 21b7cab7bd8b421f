"""The files that a run's messages refer to: they must exist, and stay as long as its thread."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from agui_host import links
from agui_host.backends.postgres import clock
from agui_host.errors import NotFound
from agui_host.protocol.input import file_references
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.teams.models import Team
from runs.models import File, FileReference, Thread

MOST = 1_000
"""How many files one input can refer to."""
RELEASE = """
delete from runs_filereference where thread_id in (
    select thread_id from runs_run where journal_id = any (%s)
) and not exists (
    select from runs_run where thread_id = runs_filereference.thread_id and purged_at is null
)
"""


class UnknownFile(NotFound):
    """A message refers to a file that does not exist, or that you have no access to."""

    code = "unknown_file"

    @classmethod
    def of(cls, ids: Collection[UUID]) -> "UnknownFile":
        """The error for these files."""
        return cls(details={"files": sorted(map(str, ids))[:10]})


def hosts() -> tuple[str, ...]:
    """The possible beginnings of the addresses of this host's files."""
    return (links.absolute(""),)


def of_input(request: RunRequest) -> list[UUID]:
    """The files that a request's messages refer to. Raises UnknownFile if there are too many."""
    messages = request.body["messages"]
    if not file_references.parts(messages):
        return []
    ids = file_references.references(messages, hosts())
    if len(ids) > MOST:
        raise UnknownFile(f"An input can refer to at most {MOST} files.", details={"max": MOST})
    return ids


def stored(team: Team) -> QuerySet[File]:
    """The team's files that are there: all of their bytes have come, and they have not expired."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    return File.objects.for_team(team).filter(unexpired, stored_at__isnull=False)


def of_thread(thread_id: UUID) -> QuerySet[File]:
    """The files that a thread refers to."""
    return File.objects.already_found().filter(references__thread=thread_id)


def check(parent: Thread, request: RunRequest) -> None:
    """Let a run pass on the files in its own thread, and no others. Raises UnknownFile."""
    if ids := of_input(request):
        known = of_thread(parent.pk).filter(pk__in=ids).values_list("pk", flat=True)
        if unknown := set(ids) - set(known):
            raise UnknownFile.of(unknown)


def record(thread: Thread, request: RunRequest) -> None:
    """Note that the thread refers to these files, in the start's transaction. Raises UnknownFile.

    A file that is deleted or expires at the same moment is either locked here first and stays, or
    is gone when its lock is free.
    """
    if not (ids := of_input(request)):
        return
    rows = stored(thread.team).filter(pk__in=ids).order_by("pk")
    locked = set(rows.select_for_update(no_key=True).values_list("pk", flat=True))
    if unknown := set(ids) - locked:
        raise UnknownFile.of(unknown)
    FileReference.objects.bulk_create(
        [FileReference(team_id=thread.team_id, thread=thread, file_id=id) for id in ids],
        ignore_conflicts=True,
    )


def release(run_ids: Collection[UUID]) -> None:
    """Forget the references of these runs' threads, where every run is purged."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASE, [list(run_ids)])
