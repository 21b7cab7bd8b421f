"""Storing an archive as a run that has ended: in a new thread, and all of it or nothing."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import uuid6
from django.db import transaction

from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from agui_host.protocol.fold.face import Answered, question_of
from agui_host.runtimes.models import Agent
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.limits import limits_of
from agui_host.teams.models import Team
from events import journal
from events.journal import Claim
from runs.lifecycle import admission, jobs
from runs.lifecycle.archive.form import About, Archive, BadArchive
from runs.lifecycle.statements import figures
from runs.models import EndedRun, ImportedRun, Run, Thread

EARLIEST = datetime.min.replace(tzinfo=UTC).timestamp()
LATEST = datetime.max.replace(tzinfo=UTC).timestamp()
"""Seconds that the database and Python both have a date for."""


def store(team: Team, archive: Archive, importer: Acting) -> Run:
    """The imported run. Raises LimitReached, and BadArchive for an event of an impossible time.

    The thread is a new one: the original can still be there, and continues without this copy.
    """
    about = archive.about
    answered = Answered()
    records = list(_records(archive, answered))
    with transaction.atomic():
        admission.check(team.pk, limits_of(team))
        thread = Thread.objects.create(
            team=team,
            thread_id=f"import-{uuid6.uuid7()}",
            created_by=importer.label,
            creator=importer.actor_id,
            visibility=about.visibility,
        )
        run = _run(team, thread, about, answered.text)
        journal.append_all(Claim(run.pk, run.journal.writer, 0), records)
        EndedRun.objects.create(
            run_id=run.pk, team=team, bytes=sum(len(record.payload) for record in records)
        )
        ImportedRun.objects.create(
            team=team, run=run, opening=archive.opening, imported_by=importer.label
        )
        jobs.store_outline(run.pk, len(records))
        audit.record(importer, team, "run.imported", str(run.pk), events=len(records))
    return run


def _run(team: Team, thread: Thread, about: About, answered: str) -> Run:
    started = about.started_at
    return Run.objects.create(
        team=team,
        journal=journal.create(),
        thread=thread,
        agent=_agent(team, about.agent),
        run_id=about.run,
        parent_run_id=about.parent_run,
        protocol_version=about.protocol_version,
        status=about.status,
        input=about.input,
        asked=question_of(patient_json.loads(about.input).get("messages")),
        answered=answered,
        result=about.result,
        usage=about.usage,
        error_code=about.error_code,
        error_message=about.error_message,
        request_digest="",
        started_by=about.started_by,
        created_at=datetime.fromisoformat(about.created_at),
        started_at=datetime.fromisoformat(started) if started else None,
        ended_at=datetime.fromisoformat(about.ended_at),
        by_model=_by_model(about.usage),
        **{name: about.figures.get(name) for name in figures.NAMES},
    )


def _by_model(usage: str | None) -> list[dict[str, Any]] | None:
    try:
        return figures.by_model(json.loads(usage or "[]"))
    except ValueError:
        return None


def _agent(team: Team, slug: str) -> Agent:
    """The team's agent of that slug; a disabled one if the team no longer has it."""
    agent, _ = Agent.objects.get_or_create(
        team=team, slug=slug, defaults={"name": slug, "target": slug, "enabled": False}
    )
    return agent


def _records(archive: Archive, answered: Answered) -> Iterator[Record]:
    at = datetime.fromisoformat(archive.about.created_at).timestamp()
    for seq, payload in enumerate(archive.payloads, 1):
        event = patient_json.loads(payload)
        answered.follow(event)
        at = event.get("timestamp", at * 1000) / 1000
        if not EARLIEST <= at < LATEST:
            raise BadArchive(f"The timestamp of event {seq} is outside of the years 1 to 9999.")
        yield Record(event["type"], payload, at)
