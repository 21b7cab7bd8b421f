"""Times in words; ``static/js/clock.mjs`` keeps them up to date with the same words."""

from datetime import UTC, datetime, timedelta

from django import template

from agui_host.backends.postgres import clock

register = template.Library()
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNITS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@register.filter
def age(moment: datetime | None) -> str:
    """``5 m ago``; empty for None."""
    if moment is None:
        return ""
    passed = (clock.now() - moment).total_seconds()
    for seconds, unit in UNITS:
        if passed >= seconds:
            return f"{int(passed // seconds)} {unit} ago"
    return "just now"


@register.filter
def span(since: datetime | None, until: datetime | None) -> str:
    """How long from ``since`` to ``until`` or now; empty for None."""
    if since is None:
        return ""
    return spoken(max((until or clock.now()) - since, timedelta()))


@register.filter
def left(moment: datetime | None) -> str:
    """How long until ``moment``: ``in 4 m 10 s``; empty for None."""
    if moment is None:
        return ""
    length = moment - clock.now()
    return f"in {spoken(length)}" if length > timedelta() else "now"


@register.filter(expects_localtime=True)
def day_time(moment: datetime) -> str:
    """``5 Jan, 14:03``; Django's filter for dates takes ten times as long, and lists have many."""
    return f"{moment.day} {MONTHS[moment.month - 1]}, {moment:%H:%M}"


def spoken(length: timedelta) -> str:
    """A length of time in at most two units: ``340 ms``, ``4.2 s``, ``3 m 05 s``, ``2 h 10 m``."""
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} m {int(seconds % 60):02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} m"


@register.filter
def moment(milliseconds: int | None) -> datetime | None:
    """The time that an event or a log line names, in UTC; None if it is out of range."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


@register.filter
def iso(moment: datetime | None) -> str:
    """The ``datetime`` attribute of a ``<time>``: UTC, with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else ""
