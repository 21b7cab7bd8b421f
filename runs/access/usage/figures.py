"""The usage of a team between two hours: runs, tokens and cost by agent, person, model and day.

Exact at every moment: the sums (``runs/lifecycle/usage``), the changes that are not added up yet,
and the runs that have not ended. All of the team's runs count, also those in private threads;
``listed`` leaves out the private ones of others, which the reader's list of runs does not show.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from agui_host.backends.postgres import clock
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle.usage import sums
from runs.models import IS_ACTIVE, Grain

DAYS = 30
"""The period without a ``since``."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MEASURES = ("runs", *sums.OUTCOMES, *sums.AMOUNTS)
CASTS = {**dict.fromkeys(("runs", *sums.OUTCOMES), "::bigint"), "cost": "::float8"}
"""To types that are read faster than a numeric; what agents report can be wider than them."""
KEYS = {
    "agent": "agent.slug",
    "person": "total.person",
    "model": "total.model",
    "day": "(total.at at time zone 'UTC')::date",
}

_CHANGES = """
changes as (
    select sign, agent_id, person, owner, created_at, status, error_code, tokens_in, tokens_out,
           tokens_cached, cost, by_model, questions, queued_ms, took_ms
      from runs_usagechange
     where team_id = %(team)s and created_at >= %(since)s and created_at < %(until)s
    union all
    select 1, run.agent_id, {person},
           case thread.visibility when 'private' then thread.creator else '' end, run.created_at,
           run.status, null, null, null, null, null, null, null, null, null
      from runs_run run join runs_thread thread on thread.id = run.thread_id
     where run.team_id = %(team)s and run.{active}
       and run.created_at >= %(since)s and run.created_at < %(until)s)
"""
_TOTAL = """
total as (
    select at, agent_id, person, owner, model, parts, {measures}
      from runs_usage
     where team_id = %(team)s and grain = %(grain)s and at >= %(since)s and at < %(until)s
    union all
    select at, agent_id, person, owner, model, parts, {fresh} from parts)
"""
_READ = """
with {changes}, parts as ({parts}), {total}
select {keys}, {sums}
  from total left join runtimes_agent agent on agent.id = total.agent_id
 where (%(owner)s::text is null or total.owner in ('', %(owner)s))
   and {of_agents}
   and {more}
 group by {places}
having sum(total.parts) <> 0 or sum(total.tokens_in) <> 0 or sum(total.cost) <> 0
       or sum(total.tokens_out) <> 0
{order}
"""
_TOOK = """
with {changes}, fresh as ({took})
select agent.slug, counted.bucket, counted.runs
  from (select {agent} as agent_id, total.bucket, sum(total.runs)::bigint as runs
          from (select at, agent_id, owner, bucket, runs from {stored}
                 where team_id = %(team)s and at >= %(since)s and at < %(until)s
                   and agent_id is {of_whole}
                union all
                select at, agent_id, owner, bucket, runs from fresh) total
         where (%(owner)s::text is null or total.owner in ('', %(owner)s))
           and {of_agents}
         group by 1, 2) counted
  left join runtimes_agent agent on agent.id = counted.agent_id
 where agent.id is {of_all}
"""
_ERRORS = """
with {changes}, fresh as ({errors})
select total.error_code, sum(total.runs)::bigint as runs
  from (select at, agent_id, owner, error_code, runs from runs_usageerror
         where team_id = %(team)s and at >= %(since)s and at < %(until)s
        union all
        select at, agent_id, owner, error_code, runs from fresh) total
 where (%(owner)s::text is null or total.owner in ('', %(owner)s))
   and {of_agents}
 group by 1 having sum(total.runs) <> 0
 order by 2 desc, 1 limit %(most)s
"""
# Looked up once, so that the index of the sums leads to these agents alone.
_OF_AGENTS = """(%(agents)s::text[] is null or total.agent_id = any (array(
    select id from runtimes_agent where team_id = %(team)s and slug = any (%(agents)s))))"""

_CHANGES = _CHANGES.format(active=IS_ACTIVE, person=sums.PERSON)


@dataclass(frozen=True, slots=True)
class Period:
    """From ``since`` until ``until``, both at whole hours of UTC."""

    since: datetime
    until: datetime

    @classmethod
    def of(cls, since: datetime | None = None, until: datetime | None = None) -> "Period":
        """The hours that contain these moments; without them the latest ``DAYS`` days."""
        now = clock.now()
        begin = since or day_of(now) - (DAYS - 1) * DAY
        end = until or day_of(now) + DAY
        return cls(hour_of(begin), hour_of(end + HOUR - timedelta(microseconds=1)))

    @classmethod
    def before(cls, days: int) -> "Period":
        """The same hours of as many days before the latest ones: no half day beside a whole one."""
        now = clock.now()
        since = day_of(now) - (days - 1) * DAY
        return cls(since - days * DAY, hour_of(now) + HOUR - days * DAY)

    @property
    def has_whole_days(self) -> bool:
        """Whether both ends are midnights."""
        return self.since == day_of(self.since) and self.until == day_of(self.until)

    def parts(self) -> "list[Period]":
        """Its whole days, whose sums are few rows, and the hours before and after them."""
        first, last = day_of(self.since + DAY - HOUR), day_of(self.until)
        if first >= last:
            return [self]
        parts = (Period(self.since, first), Period(first, last), Period(last, self.until))
        return [part for part in parts if part.since < part.until]


def hour_of(moment: datetime) -> datetime:
    """The beginning of its hour."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def day_of(moment: datetime) -> datetime:
    """The beginning of its day in UTC."""
    return hour_of(moment).replace(hour=0)


@dataclass(frozen=True, slots=True)
class Reach:
    """The runs of a team that count: of some agents, None for all, and in which threads.

    ``owner`` is the ``actor_id`` of the reader whose private threads count with those of the team,
    empty to leave out all private threads, None to include all of them.
    """

    team: UUID
    agents: Sequence[str] | None = None
    owner: str | None = None

    @classmethod
    def of(
        cls, principal: Principal, *, listed: bool = False, slugs: Sequence[str] | None = None
    ) -> "Reach":
        """The runs that count for a caller, of all agents or of these, which the caller sees.

        Raises Forbidden.
        """
        access.require(principal, "view_team")
        if slugs is None and principal.agents is not None:
            slugs = sorted(principal.agents)
        return cls(principal.team.pk, slugs, principal.actor_id if listed else None)


def read(
    principal: Principal,
    keys: Mapping[str, str],
    period: Period,
    *,
    listed: bool = False,
    slugs: Sequence[str] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """``rows`` for a caller, with ``slugs`` of these agents. Raises Forbidden."""
    return rows(Reach.of(principal, listed=listed, slugs=slugs), keys, period, **options)


def rows(
    reach: Reach,
    keys: Mapping[str, str],
    period: Period,
    *,
    measures: tuple[str, ...] = MEASURES,
    most: int | None = None,
    more: str = "true",
    **values: Any,
) -> list[dict[str, Any]]:
    """Rows with ``keys`` (names and their expressions) and ``measures``; the ``most`` largest.

    Without ``most`` all rows, in no order. ``more`` is a condition on ``total``, with ``values``.
    """
    names, expressions = list(keys), list(keys.values())
    order = [*(["day desc"] if "day" in keys else []), "cost desc", "runs desc", *names]
    statement = _READ.format(
        changes=_CHANGES,
        parts=sums.parts("changes"),
        total=_TOTAL.format(measures=", ".join(MEASURES), fresh=_fresh()),
        keys=", ".join(
            f"{expression} as {name}" for name, expression in zip(names, expressions, strict=True)
        ),
        sums=", ".join(
            f"sum(total.{_column(name, keys)}){CASTS.get(name, '')} as {name}" for name in measures
        ),
        of_agents=_OF_AGENTS,
        places=", ".join(str(place + 1) for place in range(len(names))),
        order="" if most is None else f" order by {', '.join(order)} limit {most}",
        more=more,
    )
    parameters = _scope(reach, period) | values
    parameters |= {"grain": _grain(reach, keys, period)}
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return _dicts((*names, *measures), cursor.fetchall())


def by(names: set[str]) -> dict[str, str]:
    """The ``keys`` of ``read`` for some of agent, person, model and day."""
    return {name: expression for name, expression in KEYS.items() if name in names}


def table(names: set[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    """The rows as lines of a file, with a line of names first."""
    head = [*by(names), *MEASURES]
    yield head
    yield from ([row[name] for name in head] for row in rows)


def durations(
    principal: Principal,
    period: Period,
    *,
    listed: bool = False,
    slugs: Sequence[str] | None = None,
) -> dict[str, dict[int, int]]:
    """For a caller: how many runs of each agent were in each bucket (``percentile``).

    ``slugs`` are of agents that the caller sees. Raises Forbidden.
    """
    by_agent: dict[str, Counter[int]] = {}
    for slug, bucket, runs in _took(Reach.of(principal, listed=listed, slugs=slugs), period):
        by_agent.setdefault(slug, Counter())[bucket] += runs
    return {slug: dict(+counts) for slug, counts in by_agent.items()}


def all_durations(principal: Principal, period: Period) -> dict[int, int]:
    """``buckets`` of the caller's list of runs. Raises Forbidden."""
    return buckets(Reach.of(principal, listed=True), period)


def buckets(reach: Reach, period: Period) -> dict[int, int]:
    """How many runs were in each bucket of durations (``percentile``)."""
    counts: Counter[int] = Counter()
    for _, bucket, runs in _took(reach, period, whole=True):
        counts[bucket] += runs
    return dict(+counts)


def _took(reach: Reach, period: Period, *, whole: bool = False) -> Iterator[tuple[str, int, int]]:
    """Agents, buckets and runs; with ``whole``, of all of them together.

    Whole days are read by the day, the hours before and after them by the hour.
    """
    for part in period.parts():
        is_summed = whole and part.has_whole_days and reach.agents is None
        statement = _TOOK.format(
            changes=_CHANGES,
            took=sums.took("changes", whole=is_summed),
            stored="runs_usagetook" if part.has_whole_days else "runs_usagetookhour",
            agent="null::uuid" if whole else "total.agent_id",
            of_whole="null" if is_summed else "not null",
            of_all="null" if whole else "not null",
            of_agents=_OF_AGENTS,
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, _scope(reach, part))
            yield from cursor.fetchall()


def errors(principal: Principal, period: Period, *, most: int) -> list[tuple[str, int]]:
    """The most frequent error codes of whole days, and how many runs of the caller's list failed.

    Raises Forbidden.
    """
    statement = _ERRORS.format(
        changes=_CHANGES, errors=sums.errors("changes"), of_agents=_OF_AGENTS
    )
    scope = _scope(Reach.of(principal, listed=True), period)
    with connection.cursor() as cursor:
        cursor.execute(statement, scope | {"most": most})
        counts: list[tuple[str, int]] = cursor.fetchall()
    return counts


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """The duration in ms that this share of runs does not exceed, 5 % exact; None without runs."""
    left = share * sum(buckets.values())
    for bucket in sorted(buckets):
        left -= buckets[bucket]
        if left <= 0:
            return float(sums.BASE ** (bucket - 0.5))
    return None


def _scope(reach: Reach, period: Period) -> dict[str, Any]:
    agents = None if reach.agents is None else list(reach.agents)
    return {
        "team": reach.team, "since": period.since, "until": period.until, "agents": agents,
        "owner": reach.owner,
    }  # fmt: skip


def _grain(reach: Reach, keys: Mapping[str, str], period: Period) -> str:
    """The coarsest rows that have these keys."""
    agents = "agent" in keys or reach.agents is not None
    if "model" in keys:
        grain = Grain.FINEST
    elif "person" in keys:
        grain = Grain.PERSON if period.has_whole_days and not agents else Grain.FINEST
    elif not period.has_whole_days:
        grain = Grain.HOUR
    else:
        grain = Grain.AGENT if agents else Grain.TEAM
    return grain.value


def _column(name: str, keys: Mapping[str, str]) -> str:
    """A run of several models has a part for each, the first of which counts the run."""
    return "parts" if name == "runs" and "model" in keys else name


def _fresh() -> str:
    outcomes = (f"case status when '{name}' then runs else 0 end" for name in sums.OUTCOMES)
    return ", ".join(("runs", *outcomes, *sums.AMOUNTS))


def _dicts(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    wide = [name for name in columns if name in MEASURES and name not in CASTS]
    made = [dict(zip(columns, row, strict=True)) for row in rows]
    for values in made:
        for name in wide:
            values[name] = int(values[name])
    return made
