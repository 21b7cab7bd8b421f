# ruff: noqa: S608  (constants of this module)
"""The statements of a run's effects (``ctx.once``).

``runs/worker/continuing/store.py`` commits them, those of several runs together. They are fenced
twice. Each reads the journal's generation, so an attempt that has lost its run changes nothing. And
the takeover of a run marks the started effects in its transaction (``mark_unverified``): an attempt
that has just been overtaken meets that row's lock or its status. No lock of the journal is taken,
for which its writer would wait.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models.functions import Collate

from agui_host.protocol.errors import HostError
from events.writer.lease import Statement
from runs.models import Effect, EffectStatus, Run

OURS = """
exists (select from events_journal log
         where log.id = %(run)s and log.writer = %(generation)s and log.closed_at is null)
"""
BEGIN = """
insert into runs_effect (run_id, team_id, key, digest, status, generation, attempt, version, seq,
                         bytes)
select log.id, %(team)s, %(key)s, %(digest)s, 'started', %(generation)s, %(attempt)s,
       %(version)s, log.head, 0
  from events_journal log
 where log.id = %(run)s and log.writer = %(generation)s and log.closed_at is null
    on conflict (run_id, key) do nothing
returning id
"""
READ = f"""
select digest, status, generation, value, {OURS} from runs_effect
 where run_id = %(run)s and key = %(key)s
"""
READ_BACK = f"""
update runs_effect set read_by = %(attempt)s
 where run_id = %(run)s and key = %(key)s and attempt < %(attempt)s
   and read_by is distinct from %(attempt)s and {OURS}
"""
AGAIN = f"""
update runs_effect
   set status = 'started', generation = %(generation)s, attempt = %(attempt)s,
       version = %(version)s, started_at = now(), ended_at = null
 where run_id = %(run)s and key = %(key)s and status <> 'done' and {OURS}
returning id
"""
END = f"""
update runs_effect
   set status = %(status)s, value = %(value)s, bytes = %(bytes)s, ended_at = now()
 where run_id = %(run)s and key = %(key)s and generation = %(generation)s
   and (status = 'started' or status = %(status)s) and {OURS}
returning id
"""
INHERIT = f"""
insert into runs_effect (run_id, team_id, key, digest, status, generation, attempt, version, seq,
                         value, bytes, started_at, ended_at)
select %(run)s, old.team_id, old.key, old.digest, old.status, %(generation)s, old.attempt,
       old.version, 0, old.value, old.bytes, old.started_at, old.ended_at
  from runs_effect old
 where old.run_id in (select question.run_id from runs_interrupt question
                       where question.answering_run_id = %(run)s and question.reason = %(reason)s)
   and {OURS}
    on conflict (run_id, key) do nothing
"""


class Lost(HostError):
    """Another attempt has the run: this one may neither begin nor end an effect."""

    code = "lost_lease"


class Begun(NamedTuple):
    """``new`` and failed ones are to be called; ``value`` is that of a done one, as JSON."""

    status: str
    digest: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt that makes effects: its run, and the generation by which it is fenced."""

    run: UUID
    team: UUID
    generation: int
    number: int = 1
    version: str = ""

    def beginning(self, key: str, digest: str) -> Statement:
        """Stores that an effect has started; returns a row unless there is one or it is lost."""
        return Statement(BEGIN, {**self._values(key), "digest": digest})

    def begin_again(self, key: str, digest: str, *, again: bool) -> Begun:
        """Read an effect that has begun before, and begin it again if it may.

        ``again``: also an unverified one. Raises Lost.
        """
        values = {**self._values(key), "digest": digest}
        row = _row(READ, values)
        if row is None or not row[4]:
            raise Lost
        stored, status, generation, value, _ = row
        if stored != digest or status == EffectStatus.DONE:
            if status == EffectStatus.DONE and self.number > 1:
                _execute(READ_BACK, values)
            return Begun(status, stored, value)
        # An effect that is ours has just been stored, and the answer was lost.
        ours = status == EffectStatus.STARTED and generation == self.generation
        if not (ours or again or status == EffectStatus.FAILED):
            return Begun(EffectStatus.UNVERIFIED, stored, None)
        if _row(AGAIN, values) is None:
            raise Lost
        return Begun("new", digest, None)

    def ending(self, key: str, value: str | None, *, failed: bool = False) -> Statement:
        """Stores a done effect's ``value``, or its failure; returns no row if it is lost."""
        status = EffectStatus.FAILED if failed else EffectStatus.DONE
        size = 0 if value is None else len(value)
        values = {"status": status.value, "value": value, "bytes": size}
        return Statement(END, {**self._values(key), **values})

    def inherit(self, reason: str) -> None:
        """Take over the effects of the run whose question of this ``reason`` the run answers."""
        _execute(INHERIT, {**self._values(""), "reason": reason})

    def earlier(self) -> tuple[set[str], int]:
        """The keys of all effects that the run has, and the bytes of their values."""
        rows = Effect.objects.already_found().filter(run=self.run).values_list("key", "bytes")
        sizes = dict(rows)
        return set(sizes), sum(sizes.values())

    def _values(self, key: str) -> dict[str, Any]:
        return {
            "run": self.run,
            "team": self.team,
            "generation": self.generation,
            "attempt": self.number,
            "version": self.version,
            "key": key,
        }


def mark_unverified(run: Run) -> None:
    """In the transaction that takes a run over: its started effects can no longer be done."""
    # Locked in the order in which a worker locks those that it stores in one commit.
    started = _of(run).filter(status=EffectStatus.STARTED).order_by(Collate("key", "C"))
    locked = list(started.select_for_update(no_key=True).values_list("pk", flat=True))
    _of(run).filter(pk__in=locked, status=EffectStatus.STARTED).update(
        status=EffectStatus.UNVERIFIED
    )


def last_version(run: Run) -> str:
    """The version of the code that has started the newest effect; empty without any."""
    rows = _of(run).order_by("-started_at").values_list("version", flat=True)
    version: str = rows.first() or ""
    return version


def _of(run: Run) -> Any:
    return Effect.objects.already_found().filter(run=run.pk)


def _execute(statement: str, values: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _row(statement: str, values: dict[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row
