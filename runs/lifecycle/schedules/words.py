"""When a schedule fires, in words: ``Every weekday at 07:00, Europe/Berlin``."""

import re

from cronsim import CronSim, CronSimError

from agui_host.protocol.input.zones import zone
from runs.lifecycle.schedules.ticks import SOME_DAY
from runs.models import Schedule

WEEKDAYS = (
    "on Monday through Friday",
    "on Monday, Tuesday, Wednesday, Thursday, and Friday",
)
AT = re.compile(r"At (?P<times>\d\d:\d\d(?:(?:, and |, | and )\d\d:\d\d)*) (?P<days>.+)")
ONE_DAY = re.compile(r"on ((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)")


def of(schedule: Schedule) -> str:
    """The times of a schedule and its zone; a cron that no words fit stands as it is."""
    if schedule.run_at is not None:
        local = schedule.run_at.astimezone(zone(schedule.time_zone))
        return f"Once on {local.day} {local:%b %Y} at {local:%H:%M}, {schedule.time_zone}"
    return f"{of_cron(schedule.cron)}, {schedule.time_zone}"


def of_cron(expression: str) -> str:
    """The times of a cron expression, which was checked before."""
    try:
        words = CronSim(expression, SOME_DAY).explain()
    except CronSimError:  # Stored by another version of the library.
        return expression
    for weekdays in WEEKDAYS:
        words = words.replace(weekdays, "every weekday")
    words = words.replace("on Saturday and Sunday", "every weekend day")
    if (match := AT.fullmatch(words)) is None:
        return words
    days = match["days"]
    if "through" not in days:
        days = ONE_DAY.sub(r"every \1", days)
    return f"{days[0].upper()}{days[1:]} at {match['times']}"
