"""Questions of templates about a run and the page's visitor."""

from django import template

from agui_host.dashboard import listing
from agui_host.dashboard.runs_list import columns
from agui_host.teams.authentication import Principal

register = template.Library()
register.filter("active", listing.is_active)
register.filter("stamp", listing.stamp)
register.filter("tokens", columns.tokens)


@register.filter
def can(principal: Principal, action: str) -> bool:
    """``{% if principal|can:"run" %}``: the same table as for requests."""
    return principal.can(action)


@register.filter
def person(label: str) -> str:
    """The name in a label like ``user:alice``; other kinds keep theirs: ``key abcd1234``."""
    kind, _, name = label.partition(":")
    return name if kind == "user" else f"{kind} {name}".strip()
