"""The statements that add up the usage of a team, for the chore, the recount and readers."""

from runs.models import Grain

EDITION = 2
"""Changes with each new table of sums: teams that were counted without it are counted again."""
BASE = 1.1
"""A bucket's upper bound is so many times that of the bucket before."""
BUCKET = f"ceil(ln(greatest({{took}}, 1)::float8) / ln({BASE}::float8))::smallint"
DURATION = f"case when took_ms is not null then {BUCKET.format(took='took_ms')} end"
NO_DURATION = -1
OUTCOMES = ("succeeded", "interrupted", "cancelled", "failed")
AMOUNTS = ("tokens_in", "tokens_out", "tokens_cached", "cost", "questions", "queued_ms")
MEASURES = ("parts", "runs", *OUTCOMES, *AMOUNTS)
COLUMNS = ("at", "agent_id", "person", "owner", "model")
DAY = "date_trunc('day', at, 'UTC')"

PERSON = """case run.end_user when '' then run.started_by
            else runs_usage_end_user(run.end_user, run.starter) end"""
"""Whose run it is: the end user's for whom a key acts, else that of the person or key."""

# A team's runs that have ended, as the trigger describes them (runs/sql/usage.sql).
ENDED = f"""
select 1 as sign, run.agent_id, run.agent_version, {PERSON} as person,
       case thread.visibility when 'private' then thread.creator else '' end as owner,
       run.created_at, run.status, run.error_code, run.tokens_in,
       run.tokens_out, run.tokens_cached, run.cost, run.by_model, run.questions, run.queued_ms,
       case when run.started_at is not null then greatest(
           0, (1000 * extract(epoch from run.ended_at - run.started_at))::bigint) end as took_ms
  from runs_run run join runs_thread thread on thread.id = run.thread_id
 where run.team_id = %(team)s and run.ended_at is not null
"""  # noqa: S608
# A row for each model of each run. The first has the run's sums without the others' shares.
_PARTS = """
select date_trunc('hour', change.created_at, 'UTC') as at, change.agent_id, change.person,
       change.owner, part.model, change.status, change.sign as parts,
       case n when 1 then change.sign else 0 end as runs,
       case n when 1 then change.sign * coalesce(change.questions, 0) else 0 end as questions,
       case n when 1 then change.sign * coalesce(change.queued_ms, 0) else 0 end as queued_ms,
       {amounts}
  from {changes} change
 cross join lateral (
     select n, coalesce(entry->>'model', '') as model,
            coalesce((entry->>'tokens_in')::numeric, 0) as tokens_in,
            coalesce((entry->>'tokens_out')::numeric, 0) as tokens_out,
            coalesce((entry->>'cached')::numeric, 0) as tokens_cached,
            coalesce((entry->>'cost')::numeric, 0) as cost
       from jsonb_array_elements(
                coalesce(change.by_model, jsonb_build_array(jsonb_build_object())))
            with ordinality as given (entry, n)) part
 cross join lateral (select {shares}) rest
"""
_AMOUNT = """change.sign * case n when 1 then coalesce(change.{name}::numeric, 0) - rest.{name}
            else part.{name} end as {name}"""
_SHARE = """coalesce((select sum((entry->>'{member}')::numeric)
           from jsonb_array_elements(change.by_model) with ordinality as given (entry, n)
          where given.n > 1), 0) as {name}"""
_SHARED = {
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "tokens_cached": "cached",
    "cost": "cost",
}
_TOOK = """
select date_trunc('{unit}', created_at, 'UTC') as at, {agent} as agent_id, owner,
       {bucket} as bucket, sum(sign) as runs
  from {changes} where took_ms is not null group by 1, 2, 3, 4
"""
_VERSIONS = """
select agent_id, agent_version as version, owner, coalesce({bucket}, {none}) as bucket,
       sum(sign) as runs, coalesce(sum(sign) filter (where status = 'failed'), 0) as failed,
       sum(sign * coalesce(cost::numeric, 0)) as cost
  from {changes} where agent_version <> '' group by 1, 2, 3, 4
"""
_ERRORS = """
select date_trunc('day', created_at, 'UTC') as at, agent_id, owner,
       coalesce(error_code, '') as error_code, sum(sign) as runs
  from {changes} where status = 'failed' group by 1, 2, 3, 4
"""
_SUMMED = "select '{grain}' as grain, {keys}, {sums} from parts group by 1, 2, 3, 4, 5, 6"
_STORED = """
insert into runs_usage as stored (team_id, {keys}, {names})
select %(team)s, {keys}, {names} from summed
    on conflict (team_id, {keys}) do update set {values}
"""
_STORED_TOOK = """
insert into runs_usagetook{suffix} as stored (team_id, at, agent_id, owner, bucket, runs)
select %(team)s, at, agent_id, owner, bucket, runs from took{suffix}
    on conflict (team_id, at, agent_id, owner, bucket) do update set {values}
"""
_STORED_VERSIONS = """
insert into runs_usageversion as stored (
    team_id, agent_id, version, owner, bucket, runs, failed, cost)
select %(team)s, agent_id, version, owner, bucket, runs, failed, cost from versions
    on conflict (team_id, agent_id, version, owner, bucket) do update set {values}
"""
_STORED_ERRORS = """
insert into runs_usageerror as stored (team_id, at, agent_id, owner, error_code, runs)
select %(team)s, at, agent_id, owner, error_code, runs from errors
    on conflict (team_id, at, agent_id, owner, error_code) do update set {values}
"""
_MADE = """
parts as ({parts}), summed as ({summed}), took as ({took}), tookhour as ({took_hour}),
versions as ({versions}), errors as ({errors}),
stored_sums as ({stored}), stored_took as ({stored_took}),
stored_took_hour as ({stored_took_hour}), stored_versions as ({stored_versions}),
stored_errors as ({stored_errors})
"""
_FOLD = """
with batch as (
    delete from runs_usagechange where id in (
        select id from runs_usagechange where team_id = %(team)s order by id limit %(most)s)
    returning *),
{made}
select count(*) from batch
"""
# One statement, which sees one moment: a run that ends at the same time is in neither.
_RECOUNT = """
with gone as (delete from runs_usagechange where team_id = %(team)s),
ended as ({ended}),
{made},
left_sums as (
    delete from runs_usage u where u.team_id = %(team)s and not exists (
        select from summed s where (s.grain, s.at, s.person, s.owner, s.model)
             = (u.grain, u.at, u.person, u.owner, u.model)
           and s.agent_id is not distinct from u.agent_id)),
left_took as (
    delete from runs_usagetook u where u.team_id = %(team)s and not exists (
        select from took t where (t.at, t.owner, t.bucket) = (u.at, u.owner, u.bucket)
           and t.agent_id is not distinct from u.agent_id)),
left_took_hour as (
    delete from runs_usagetookhour u where u.team_id = %(team)s and not exists (
        select from tookhour t where (t.at, t.agent_id, t.owner, t.bucket)
             = (u.at, u.agent_id, u.owner, u.bucket))),
left_versions as (
    delete from runs_usageversion u where u.team_id = %(team)s and not exists (
        select from versions v where (v.agent_id, v.version, v.owner, v.bucket)
             = (u.agent_id, u.version, u.owner, u.bucket))),
left_errors as (
    delete from runs_usageerror u where u.team_id = %(team)s and not exists (
        select from errors e where (e.at, e.agent_id, e.owner, e.error_code)
             = (u.at, u.agent_id, u.owner, u.error_code)))
select count(*) from ended
"""
KEYS = ", ".join(("grain", *COLUMNS))
_GRAINS = {
    Grain.TEAM: (DAY, "null::uuid", "''", "owner", "''"),
    Grain.AGENT: (DAY, "agent_id", "''", "owner", "''"),
    Grain.HOUR: ("at", "agent_id", "''", "owner", "''"),
    Grain.PERSON: (DAY, "null::uuid", "person", "owner", "''"),
    Grain.FINEST: COLUMNS,
}


def parts(changes: str) -> str:
    """A row for each model of each run among ``changes``, a name in the statement."""
    amounts = (_AMOUNT.format(name=name) for name in _SHARED)
    shares = (_SHARE.format(name=name, member=member) for name, member in _SHARED.items())
    return _PARTS.format(changes=changes, amounts=", ".join(amounts), shares=", ".join(shares))


def took(changes: str, unit: str = "day", *, whole: bool = False) -> str:
    """How many runs among ``changes`` are in each bucket of durations, by day or hour.

    Of each agent, or of the ``whole`` team, whose rows have no agent.
    """
    bucket, agent = BUCKET.format(took="took_ms"), "null::uuid" if whole else "agent_id"
    return _TOOK.format(changes=changes, bucket=bucket, unit=unit, agent=agent)


def versions(changes: str) -> str:
    """How the runs of each version among ``changes`` have fared."""
    return _VERSIONS.format(changes=changes, bucket=DURATION, none=NO_DURATION)


def errors(changes: str) -> str:
    """How many runs among ``changes`` have failed with each code, by day."""
    return _ERRORS.format(changes=changes)


def sums() -> str:
    """The measures, as sums over ``parts``."""
    outcomes = (
        f"coalesce(sum(runs) filter (where status = '{name}'), 0) as {name}" for name in OUTCOMES
    )
    amounts = (f"sum({name}) as {name}" for name in AMOUNTS)
    return ", ".join(("sum(parts) as parts", "sum(runs) as runs", *outcomes, *amounts))


def _summed() -> str:
    selects = []
    for grain, keys in _GRAINS.items():
        named = (f"{key} as {column}" for key, column in zip(keys, COLUMNS, strict=True))
        selects.append(_SUMMED.format(grain=grain.value, keys=", ".join(named), sums=sums()))
    return " union all ".join(selects)


def _values(*names: str, added: bool) -> str:
    before = "stored.{0} + " if added else ""
    return ", ".join(f"{{0}} = {before}excluded.{{0}}".format(name) for name in names)


def _statement(template: str, changes: str, *, added: bool) -> str:
    runs = _values("runs", added=added)
    made = _MADE.format(
        parts=parts(changes),
        summed=_summed(),
        took=f"{took(changes)} union all {took(changes, whole=True)}",
        took_hour=took(changes, "hour"),
        versions=versions(changes),
        errors=errors(changes),
        stored=_STORED.format(
            keys=KEYS, names=", ".join(MEASURES), values=_values(*MEASURES, added=added)
        ),
        stored_took=_STORED_TOOK.format(suffix="", values=runs),
        stored_took_hour=_STORED_TOOK.format(suffix="hour", values=runs),
        stored_versions=_STORED_VERSIONS.format(
            values=_values("runs", "failed", "cost", added=added)
        ),
        stored_errors=_STORED_ERRORS.format(values=runs),
    )
    return template.format(ended=ENDED, made=made.strip())


FOLD = _statement(_FOLD, "batch", added=True)
RECOUNT = _statement(_RECOUNT, "ended", added=False)
