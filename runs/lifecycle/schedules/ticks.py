"""When a schedule is due: cron expressions in a time zone, and which missed ticks are made up."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from agui_host.backends.postgres import clock
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.zones import zone
from runs.models import Missed, Schedule

LONGEST = 200
FIELDS = re.compile(r"[0-9A-Za-z*,/#-]+(\s+[0-9A-Za-z*,/#-]+){4}", re.ASCII)
ON_TIME = timedelta(seconds=60)
"""A tick that is later than this was missed; a delay by a worker's restart is on time."""
MOST_MISSED = 100
"""How many missed ticks ``all`` makes up, the newest."""
SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
LOOKED_AT = 60
LOOKED_AHEAD = timedelta(days=731)
"""How many ticks are compared with the shortest period, and how far ahead: rare ones cost most."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields in a time zone.

    As in Debian's cron, a time that the clocks skip counts as the next existing one, and a
    time that comes twice counts once, unless the expression is for every hour.
    """

    expression: str
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime:
        """The first tick later than ``moment``, in UTC. Raises Invalid if there is none."""
        return next(self.every(moment))

    def upcoming(self, moment: datetime, count: int) -> list[datetime]:
        """The next ``count`` ticks after ``moment``."""
        return list(islice(self.every(moment), count))

    def newest(self, until: datetime, count: int, since: datetime) -> list[datetime]:
        """The last ``count`` ticks up to ``until``, not before ``since``."""
        floor = since
        earlier = CronSim(self.expression, until.astimezone(self.zone), reverse=True)
        # The walk back and the walk forward can differ by the hour that a clock skips or repeats,
        # so one step more only bounds the walk forward, which decides.
        for tick in islice(earlier, count + 1):
            floor = max(since, tick.astimezone(UTC))
            if floor == since:
                break
        newest: list[datetime] = []
        for tick in self.every(floor - timedelta(seconds=1)):
            if tick > until:
                break
            newest.append(tick)
        return newest[-count:]

    def every(self, moment: datetime) -> Iterator[datetime]:
        """All ticks after ``moment``. Raises Invalid where 50 years come without one."""
        try:
            for local in CronSim(self.expression, moment.astimezone(self.zone)):
                # In an hour that comes twice, cronsim can begin with a tick of its first time.
                if (tick := local.astimezone(UTC)) > moment:
                    yield tick
        except (CronSimError, OverflowError):
            pass
        raise Invalid(
            f"The cron {self.expression!r} never fires: no such date comes within 50 years.",
            details={"path": "cron"},
        )


def cron(expression: str, time_zone: str, shortest: float) -> Cron:
    """Read a cron expression. Raises Invalid if it is malformed, never fires, or fires too often.

    ``shortest``: the fewest seconds between two ticks.
    """
    if len(expression) > LONGEST or not FIELDS.fullmatch(expression.strip()):
        raise _bad("must have five fields: minute, hour, day of the month, month, day of the week")
    try:
        CronSim(expression, SOME_DAY)
    except CronSimError as error:
        if _is_impossible(expression):
            raise Invalid(
                f"The cron {expression!r} never fires: no month of it has such a day.",
                details={"path": "cron"},
            ) from None
        raise _bad(f"is malformed: {str(error).lower()}") from None
    rule = Cron(expression, zone(time_zone))
    now = clock.now()
    until = rule.after(now) + LOOKED_AHEAD
    soon = takewhile(lambda tick: tick < until, rule.every(now))
    gaps = (later - earlier for earlier, later in pairwise(islice(soon, LOOKED_AT)))
    if min(gaps, default=LOOKED_AHEAD) < timedelta(seconds=shortest):
        raise _bad(f"fires more often than every {shortest:g} seconds, which this host refuses")
    return rule


def rule_of(schedule: Schedule) -> Cron | None:
    """The cron of a stored schedule; None if it runs once."""
    return Cron(schedule.cron, zone(schedule.time_zone)) if schedule.cron else None


class Decision(NamedTuple):
    """The tick that is dealt with now, whether it starts a run, and the next one, if any."""

    tick: datetime
    fires: bool
    following: datetime | None


def decide(rule: Cron | None, due: datetime, now: datetime, missed: Missed) -> Decision:
    """What happens to the tick ``due``, which has come; ``rule`` None: there is only this one.

    ``skip`` starts nothing for missed ticks, ``once`` one run in place of all that are due, ``all``
    a run for each, one with each call, but for the newest ``MOST_MISSED`` only.
    """
    is_missed = now - due > ON_TIME
    if rule is None:
        return Decision(due, not is_missed or missed != Missed.SKIP, None)
    if is_missed and missed == Missed.SKIP:
        first = rule.after(now - ON_TIME - timedelta(microseconds=1))
        if first > now:
            return Decision(due, False, first)
        due = first
    elif is_missed:
        count = 1 if missed == Missed.ONCE else MOST_MISSED
        due = next(iter(rule.newest(now, count, due)), due)
    return Decision(due, True, rule.after(due))


def _is_impossible(expression: str) -> bool:
    """Whether the expression is well formed but for days that its months do not have."""
    minute, hour, day, month, weekday = expression.split()
    try:
        for days, months in (("1", month), (day, "1")):
            CronSim(f"{minute} {hour} {days} {months} {weekday}", SOME_DAY)
    except CronSimError:
        return False
    return True


def _bad(problem: str) -> Invalid:
    return Invalid(f"The cron expression {problem}.", details={"path": "cron"})
