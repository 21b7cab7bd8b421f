"""Figures as people write them: 12,345 runs, $4.20, 1.2 s, 8 % more."""

from datetime import timedelta

from django import template

from agui_host.dashboard.templatetags.clock import spoken

register = template.Library()
SMALL = 0.01


@register.filter
def number(value: float) -> str:
    """With separators of thousands."""
    return f"{value:,}"


@register.filter
def dollars(value: float | None) -> str:
    """A cost; small ones with more digits."""
    if not value:
        return "$0"
    return f"${value:,.2f}" if value >= SMALL else f"${value:.2g}" if value > 1e-4 else "< $0.0001"


@register.filter
def took(milliseconds: float | None) -> str:
    """A duration; a dash for none."""
    return "–" if milliseconds is None else spoken(timedelta(milliseconds=milliseconds))


@register.filter
def against(value: float, before: float) -> str:
    """The change from ``before``: ``8 % more``; empty if there was none before."""
    if not before:
        return "none before" if value else ""
    share = round(100 * (value - before) / before)
    if share == 0:
        return "as before"
    return f"{abs(share):,} % {'more' if share > 0 else 'less'}"


@register.filter
def share(part: int, whole: int) -> str:
    """A part in percent."""
    percent = 100 * part / whole if whole else 0
    return f"{percent:.0f} %" if percent >= 1 or not part else "< 1 %"
