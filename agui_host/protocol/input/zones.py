"""Time zones by their names."""

from zoneinfo import ZoneInfo

from agui_host.protocol.errors import Invalid


def zone(name: str) -> ZoneInfo:
    """The time zone of that IANA name. Raises Invalid."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise Invalid(
            f"There is no time zone {name!r}; use a name such as Europe/Berlin.",
            details={"path": "time_zone"},
        ) from None
