"""Questions of templates about a run and the page's visitor."""

from collections.abc import Iterable

from django import template
from django.http import QueryDict
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from agui_host import links
from agui_host.dashboard import listing
from agui_host.dashboard.runs_list import sorting, status
from agui_host.teams.authentication import Principal

register = template.Library()
register.filter("active", listing.is_active)
register.filter("chip", status.chip)
register.filter("status_word", status.word)
register.filter("page", links.page)


@register.filter
def can(principal: Principal, action: str) -> bool:
    """``{% if principal|can:"run" %}``: the same table as for requests."""
    return principal.can(action)


@register.filter
def thousands(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


SELECTED = mark_safe(" selected")


@register.simple_tag
def options(values: Iterable[str], chosen: str = "") -> SafeString:
    """The options of a select: a loop renders five nodes for each of a team's agents."""
    rows = ((SELECTED if value == chosen else "", value) for value in values)
    return format_html_join("", "<option{}>{}</option>", rows)


@register.filter
def without_sort(query: QueryDict) -> str:
    """The address of a list in its usual order, for another parameter to follow."""
    own = query.copy()
    own.pop(sorting.NAME, None)
    return f"{own.urlencode()}&" if own else ""


SECTIONS = {
    "runs": ("run", "runs", "thread"),
    "agents": ("agent", "agents"),
    "issues": ("issue", "issues", "tool"),
    "inbox": ("inbox", "mentions"),
    "usage": ("usage", "budgets", "alert", "alerts", "data", "trial"),
    "team": ("team",),
    "operator": ("operator",),
    "manual": ("manual",),
}
"""The pages of each link at the top, by the first word of their names."""


@register.simple_tag(takes_context=True)
def current(context: Context, section: str) -> str:
    """The ``aria-current`` of a link at the top: ``page``, or ``true`` on the pages below it."""
    match = getattr(context.get("request"), "resolver_match", None)
    name = (match.url_name or "") if match else ""
    if name.partition("-")[0] not in SECTIONS[section]:
        return ""
    return format_html(' aria-current="{}"', "page" if name == section else "true")


BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome",
            "Safari": "Safari"}  # fmt: skip
"""By the word in their names for themselves; the later ones also call themselves the earlier."""
SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows",
           "Mac OS X": "macOS", "Linux": "Linux"}  # fmt: skip


@register.filter
def program(user_agent: str) -> str:
    """``Chrome on Linux``; other programs as they call themselves."""
    browser = next((name for word, name in BROWSERS.items() if f"{word}/" in user_agent), "")
    system = next((name for word, name in SYSTEMS.items() if word in user_agent), "")
    return f"{browser} on {system}" if browser and system else user_agent


@register.filter
def person(label: str) -> str:
    """The name in a label like ``user:alice``; other kinds keep theirs: ``key abcd1234``."""
    kind, _, name = label.partition(":")
    kind = "end user" if kind == "end" else kind
    return name if kind == "user" else f"{kind} {name}".strip()
