"""The tool calls of a team's runs, and doubles among them."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.db.models import QuerySet

from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access.insight.visibility import to_reader
from runs.models import Called, ToolCall

EARLIER = 20
"""Earlier calls that are shown with a double."""


def visible(principal: Principal) -> TeamQuerySet[ToolCall]:
    """The calls that the principal sees. Raises Forbidden."""
    rows = ToolCall.objects.for_team(principal.team).filter(to_reader(principal))
    return rows.select_related("agent")


def doubles(
    principal: Principal, rows: QuerySet[ToolCall], kinds: Collection[str] = Called.values
) -> QuerySet[ToolCall]:
    """The calls that repeat another one, by the outcome of the calls before.

    Without runs that are seen alone: the calls before can be of earlier runs.
    """
    return rows.filter(to_reader(principal, whole=True), double__in=list(kinds))


def earlier(principal: Principal, calls: Iterable[ToolCall]) -> dict[int, list[ToolCall]]:
    """The calls that each of these doubles repeats, the newest first."""
    roots = {call.root for call in calls if call.double}
    if not roots:
        return {}
    groups: dict[tuple[UUID, str, str], list[ToolCall]] = {}
    for call in visible(principal).filter(root__in=roots).order_by("-run_id", "-seq", "-id"):
        groups.setdefault((call.root, call.name, call.digest), []).append(call)
    before: dict[int, list[ToolCall]] = {}
    for same in groups.values():
        for place, call in enumerate(same, 1):
            before[call.pk] = same[place : place + EARLIER]
    return before
