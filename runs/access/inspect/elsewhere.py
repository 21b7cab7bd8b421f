"""Another team of a person in which they see a thing that they do not see here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agui_host.backends.postgres import scope
from agui_host.protocol.errors import HostError
from agui_host.runtimes import team_agents
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Team
from runs.access import access, webhooks
from runs.access.alerts import manage as alerts
from runs.access.evaluation import data_sets, trials
from runs.access.insight import issues
from runs.access.schedules import manage as schedules

SEES: dict[str, Callable[[Principal, Any], object]] = {
    "run_id": lambda other, key: access.visible(other).filter(pk=key).exists(),
    "key": lambda other, key: access.visible(other).filter(thread=key).exists(),
    "slug": team_agents.find,
    "issue_id": issues.find,
    "alert_id": alerts.find,
    "data_set_id": data_sets.find,
    "trial_id": trials.find,
    "webhook_id": webhooks.find,
    "schedule_id": schedules.find,
}
"""By the name of the parameter in a page's address: whether the person sees the thing.

False, NotFound or Forbidden if not.
"""


def team_of(principal: Principal, values: Mapping[str, object]) -> Team | None:
    """The team that the person would have to switch to; None if no team of theirs shows it.

    ``values``: the parameters of the page's address.
    """
    sees = [(SEES[name], value) for name, value in values.items() if name in SEES]
    with scope.everywhere():
        for other in _others(principal) if sees else ():
            if all(_sees(find, other, value) for find, value in sees):
                return other.team
    return None


def _sees(find: Callable[[Principal, Any], object], other: Principal, value: object) -> bool:
    try:
        return find(other, value) is not False
    except HostError:
        return False


def _others(principal: Principal) -> Iterator[Principal]:
    if principal.kind != "user" or principal.user_id is None:
        return
    mine = Membership.objects.of_one_person().filter(user=principal.user_id, team__archived_at=None)
    for membership in mine.exclude(team=principal.team).select_related("team").order_by("pk"):
        other = authentication.of_actor(membership.team, principal.actor_id)
        if other is not None:
            yield other
