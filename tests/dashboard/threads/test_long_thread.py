"""A thread of 2,000 runs opens as fast as a short one: page by page, with as many queries."""

import time
from statistics import median
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.backends.postgres import clock
from events.models import Journal
from runs.access.inspect import turns
from runs.models import Run, Status, Thread
from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.dashboard.threads.test_thread_page import turn

RUNS = 2_000


def opened(browser: Client, address: str) -> tuple[int, float]:
    """How many queries and how many seconds a page takes."""
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        assert browser.get(address).status_code in (200, 204)
    return len(queries), time.perf_counter() - began


def lengthen(cast: Cast, thread: Thread, number: int) -> None:
    """Runs without events at the end of the thread."""
    journals = Journal.objects.bulk_create([Journal(id=clock.new_id()) for _ in range(number)])
    now = timezone.now()
    Run.objects.bulk_create(
        Run(
            journal=journal, team=cast.team, thread=thread, agent=cast.echo, run_id=str(uuid4()),
            status=Status.CANCELLED, input="{}", request_digest="", started_by="user:alice",
            ended_at=now, cost=0.01,
        )
        for journal in journals
    )  # fmt: skip


@pytest.mark.apart
def test_two_thousand_runs(cast: Cast, browse: Browse) -> None:
    texts = [f"Question {number}" for number in range(turns.PAGE + 1)]
    first, *_ = [turn(cast.alice, text) for text in texts]
    thread = Thread.objects.for_team(cast.team).get(pk=first.thread_id)
    page, browser = f"/threads/{thread.pk}/", browse(cast.alice)
    short, _ = opened(browser, page)
    lengthen(cast, thread, RUNS)
    for text in texts:
        turn(cast.alice, text)
    oldest = Run.objects.for_team(cast.team).order_by("journal_id")[RUNS // 2]
    newest = Run.objects.for_team(cast.team).order_by("-journal_id")[0]
    for address in (page, f"{page}?before={oldest.pk}", f"{page}pulse?newest={newest.pk}"):
        times = [opened(browser, address) for _ in range(5)]
        seconds = median(took for _, took in times)
        print(f"{address.removeprefix(page) or 'page'}: {times[0][0]} queries, {seconds:.3f} s")
        assert max(number for number, _ in times) <= short + 2
        assert seconds < 2
