"""The faces of runs: stored with their start and end, read later for older ones, and purged."""

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.access import access, sharing, threads
from runs.access.sharing import Terms, To
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import retention
from runs.lifecycle.words import faces
from runs.models import FACELESS, Run, Thread, Visibility
from tests.cast import Cast, fresh, perform, start

pytestmark = pytest.mark.django_db(transaction=True)


def ask(cast: Cast, text: str, thread: str = "t") -> Run:
    return start(
        cast.alice,
        threadId=thread,
        messages=[{"id": text, "role": "user", "content": text}],
    )


async def test_a_run_has_its_face_from_its_start_and_its_end(
    cast: Cast, writer: JournalWriter
) -> None:
    run = await db(ask, cast, "Where is\norder 7?")
    assert (run.asked, run.answered) == ("Where is order 7?", None)
    ended = await perform(run, writer)
    assert (ended.asked, bool(ended.answered)) == ("Where is order 7?", True)
    assert not await db(Run.objects.of_any_team().filter(FACELESS).exists)


async def test_a_worker_reads_the_faces_of_older_runs(cast: Cast, writer: JournalWriter) -> None:
    run = await perform(await db(ask, cast, "Where is order 7?"), writer)
    waiting = await db(ask, cast, "And order 8?")
    before = (run.asked, run.answered)
    await db(lambda: Run.objects.of_any_team().update(asked=None, answered=None))
    assert await db(faces.run_once, 0.0) == 0
    assert await db(faces.run_once, 20.0) == 2
    again = await db(fresh, run)
    assert (again.asked, again.answered) == before
    assert (await db(fresh, waiting)).asked == "And order 8?"
    assert await db(faces.run_once, 20.0) == 0


async def test_a_purged_run_has_no_face_and_gets_none(cast: Cast, writer: JournalWriter) -> None:
    run = await perform(await db(ask, cast, "My secret"), writer)
    later = await perform(await db(ask, cast, "Something else"), writer)
    await db(retention.purge_run, run)
    gone = await db(fresh, run)
    assert (gone.asked, gone.answered) == ("", "")
    await db(lambda: Run.objects.of_any_team().filter(pk=run.pk).update(asked=None))
    await db(faces.run_once, 20.0)
    assert (await db(fresh, run)).asked is None
    thread = await db(threads.find, cast.alice.principal, later.thread_id)
    assert threads.title_of(thread) == "Something else"


def test_a_thread_is_called_by_its_first_question_until_people_name_it(cast: Cast) -> None:
    first = ask(cast, "Where is order 7?")
    lifecycle.cancel(first)
    ask(cast, "And order 8?")
    thread = threads.find(cast.alice.principal, first.thread_id)
    assert (threads.title_of(thread), thread.asked) == ("Where is order 7?", "And order 8?")
    named = threads.change(cast.alice.principal, first.thread_id, {"title": "Orders"})
    assert threads.title_of(named) == "Orders"


def test_a_reader_of_a_later_run_alone_sees_no_preview(cast: Cast) -> None:
    first = ask(cast, "Where is order 7?")
    lifecycle.cancel(first)
    later = ask(cast, "And order 8?")
    Thread.objects.filter(pk=first.thread_id).update(visibility=Visibility.PRIVATE)
    for run in (first, later):
        sharing.share(cast.alice.principal, run, To(member="bob"), Terms())
    questions = [access.find(cast.bob.principal, run.pk).asked for run in (first, later)]
    assert questions == ["Where is order 7?", ""]
    assert access.find(cast.alice.principal, later.pk).asked == "And order 8?"
