"""New questions, each taken by one worker only, to tell people of."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from runs.models import Interrupt

MOST = 50
"""Questions that a worker takes at a time."""
RECENT = "5 minutes"
"""Questions that are older when a worker first sees them are no news."""
# ``skip locked``: a question that is being answered needs no notice.
TAKE = f"""
update runs_interrupt set noticed_at = now() where id in (
    select q.id from runs_interrupt q
     where q.status = 'open' and q.noticed_at is null
       and q.created_at > now() - interval '{RECENT}'
       and q.team_id <> all (%s::uuid[])
       and (exists (select from runs_pushsubscription s where s.team_id = q.team_id)
         or exists (select from runs_mailchoice m where m.team_id = q.team_id))
     order by q.created_at limit %s for no key update skip locked)
returning id
"""  # noqa: S608  a constant of this module


def take(busy: Sequence[UUID] = ()) -> list[Interrupt]:
    """New questions of teams in which someone wants to hear of them, with runs and agents.

    Those of ``busy`` teams wait.

    A worker that dies after this has told nobody: a notice is sent at most once.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [list(busy), MOST])
        keys = [row[0] for row in cursor.fetchall()]
    if not keys:
        return []
    rows = Interrupt.objects.already_found().filter(pk__in=keys).order_by("pk")
    return list(rows.select_related("team", "run__agent").defer("question", "response_schema"))
