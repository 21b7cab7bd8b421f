"""Erasing a thread or a team: all of it goes, nothing of the neighbours does."""

from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from agui_host.teams.models import AuditEntry, Team
from events.models import Doomed, Event, Journal
from runs.lifecycle import history, lifecycle
from runs.lifecycle.deletion import erasure, retention
from runs.models import Run, Thread
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, log_of, start
from tests.runs.asking import asking, end

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "a-word-that-nobody-may-find"
SAID = [{"role": "user", "content": SECRET}]


def erase(actor: Actor, thread: Thread) -> Answer:
    return ask_now("DELETE", f"/api/v1/threads/{thread.pk}", actor.headers)


def tables_with(word: str) -> list[str]:
    """Every table of the database in which some row has the word in some column."""
    tables = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f'select exists (select from "{table}" t where t::text like %s)',  # noqa: S608
                [f"%{word}%"],
            )
            if cursor.fetchone()[0]:
                tables.append(table)
    return tables


def sweep() -> None:
    retention.sweep(float("inf"))


class TestThread:
    @pytest.fixture
    def thread(self, cast: Cast) -> Thread:
        run = asking(cast.alice, "i", thread="t", messages=SAID)
        history.current(run.thread_id)
        assert tables_with(SECRET)
        return run.thread

    def test_nothing_of_it_is_left(self, cast: Cast, thread: Thread) -> None:
        other = start(cast.bob, threadId="u")
        end(other)
        run = thread.runs.get()
        assert erase(cast.alice, thread).status == 204
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}", cast.alice.headers)
        assert answer.status == 404
        sweep()
        assert tables_with(SECRET) == []
        assert not Event.objects.filter(journal_id=run.pk).exists()
        assert not Journal.objects.filter(pk=run.pk).exists()
        assert not Doomed.objects.exists()
        assert log_of(other)

    def test_the_log_says_that_it_was_erased_and_by_whom(self, cast: Cast, thread: Thread) -> None:
        erase(cast.alice, thread)
        line = AuditEntry.objects.for_team(cast.team).get(action="thread.erased")
        assert (line.target, line.details) == (str(thread.pk), '{"runs":1}')
        assert line.who == f"key:{cast.alice.key_prefix}"

    @pytest.mark.parametrize(("who", "status"), [("bob", 403), ("vera", 403), ("charlie", 404)])
    def test_not_by_everybody(self, cast: Cast, thread: Thread, who: str, status: int) -> None:
        assert erase(getattr(cast, who), thread).status == status
        assert Thread.objects.filter(pk=thread.pk).exists()

    def test_a_run_that_has_not_ended_comes_first(self, cast: Cast) -> None:
        run = start(cast.alice)
        answer = erase(cast.alice, run.thread)
        assert (answer.status, answer.code) == (409, "thread_busy")
        assert answer.json["error"]["details"]["id"] == str(run.pk)
        lifecycle.cancel(run)
        assert erase(cast.alice, run.thread).status == 204
        assert erase(cast.alice, run.thread).status == 404

    def test_the_threads_go_too_that_its_runs_spawned(self, cast: Cast, thread: Thread) -> None:
        child = start(cast.alice, threadId="spawned")
        end(child)
        Run.objects.filter(pk=child.pk).update(parent=thread.runs.get())
        assert erase(cast.alice, thread).status == 204
        assert not Thread.objects.filter(pk=child.thread_id).exists()

    def test_not_under_legal_hold(self, cast: Cast, thread: Thread) -> None:
        for name in ([cast.team.slug], [cast.team.slug, "t"]):
            call_command("legal_hold", *name)
            answer = erase(cast.alice, thread)
            assert (answer.status, answer.code) == (409, "legal_hold")
            call_command("legal_hold", *name, "--release")
        acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="hold.")
        assert acts.count() == 4
        assert erase(cast.alice, thread).status == 204


class TestTeam:
    def test_nothing_of_it_is_left_and_all_of_the_others(self, cast: Cast) -> None:
        asking(cast.alice, "i", messages=SAID)
        queued = start(cast.alice, threadId="u", messages=SAID)
        theirs = start(cast.charlie)
        end(theirs)
        call_command("delete_team", cast.team.slug, "--yes")
        sweep()
        assert tables_with(SECRET) == []
        assert not Team.objects.filter(pk=cast.team.pk).exists()
        assert not Run.objects.filter(pk=queued.pk).exists()
        for model in apps.get_models():
            team = next((f for f in model._meta.fields if f.related_model is Team), None)
            if team is not None:
                rows: Any = model._default_manager.values_list(team.attname, flat=True)
                assert set(rows) <= {cast.other_team.pk, None}, model
        assert log_of(theirs)
        answer = ask_now("GET", "/api/v1/runs", cast.alice.headers)
        assert answer.status == 401

    def test_it_must_be_meant(self, cast: Cast) -> None:
        with pytest.raises(CommandError, match="--yes"):
            call_command("delete_team", cast.team.slug)
        assert Team.objects.filter(pk=cast.team.pk).exists()

    def test_not_under_legal_hold_even_of_one_thread(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        call_command("legal_hold", cast.team.slug, "t")
        with pytest.raises(CommandError, match="legal hold"):
            call_command("delete_team", cast.team.slug, "--yes")
        assert Thread.objects.filter(pk=run.thread_id).exists()

    def test_it_waits_for_runs_that_are_told_to_stop(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        with pytest.raises(erasure.TeamBusy):
            erasure.erase_team(cast.team)
        run.refresh_from_db()
        assert run.cancel_requested_at is not None
        assert ask_now("GET", "/api/v1/runs", cast.alice.headers).status == 401
