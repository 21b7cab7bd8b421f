"""Records the use of grants: the time of the last use in the grant, the viewer in the log.

At most once a minute for each visitor: a request must not cost a write.
"""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from protocol.ids import uuid7_floor
from runs.models.grant import Grant
from teams import audit
from teams.actors import Acting, actor
from teams.models import AuditEntry

EVERY = timedelta(minutes=1)


def note(grant: Grant, who: Acting | str, action: str, **details: Any) -> None:
    """Record that ``who`` used the grant; ``action`` is the audit log's name for that."""
    now, label = timezone.now(), actor(who).label
    lines = AuditEntry.objects.for_team(grant.team).filter(action=action, who=label)
    since = uuid7_floor((now - EVERY).timestamp())
    if lines.filter(target=str(grant.pk), pk__gt=since).exists():
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - EVERY)
    with transaction.atomic():
        rows = Grant.objects.already_found().filter(stale, pk=grant.pk)
        rows.update(last_used_at=now)
        audit.record(who, grant.team, action, str(grant.pk), **details)
