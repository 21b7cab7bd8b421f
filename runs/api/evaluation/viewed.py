"""The runs of a saved view, for a data set."""

from uuid import UUID

from django.http import QueryDict

from agui_host.protocol.errors import Invalid
from agui_host.teams.authentication import Principal
from runs.access.evaluation import data_sets
from runs.access.inspect import saved_views
from runs.api.listing import filters, search

LOOKED_AT = 2_500
"""The newest runs of a saved view among which those are that a data set can have."""


def newest(
    principal: Principal, *, view: UUID | None, most: int, agent: str, label: str
) -> list[UUID]:
    """The newest ended runs of a saved view, if one is named, of an agent and with a label.

    Of a view of a million runs, the newest ``LOOKED_AT`` are read. Raises NotFound, Invalid.
    """
    if view is None:
        return data_sets.newest(principal, agent=agent, label=label, most=most)
    matches = search.matching(principal, QueryDict(saved_views.find(principal, view).query))
    if matches.problems:
        raise Invalid(
            f"The view makes no sense any more: {matches.problems[0]}", details={"path": "view"}
        )
    rows = matches.newest.order_by(*filters.ordering(matches.query)).values("pk")[:LOOKED_AT]
    return data_sets.newest(principal, agent=agent, label=label, most=most, among=rows)
