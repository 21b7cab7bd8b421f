"""Sealed logs in a bucket: they read as before, and an erased one leaves the object."""

import asyncio
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from agui_host.backends.file_store import file_store
from events import purge
from events.models import SealedObject
from events.sealed import blocks, sweeping
from runs.lifecycle.deletion import erasure
from tests.asgi import ask_now
from tests.backends.s3.bucket import served
from tests.cast import Cast
from tests.runs.sealed.sealed_runs import own_store, seal, spoken
from tests.runs.sealed.test_reading import everything

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(300),
]  # fmt: skip
__all__ = ["own_store"]


@pytest.fixture
def bucket(own_store: None, settings: Settings) -> Iterator[None]:
    with served() as settings.AGUI_FILES:
        yield


def keys() -> list[str]:
    return list(file_store().keys("sealed"))


def test_a_log_in_a_bucket(cast: Cast, bucket: None) -> None:
    run, other = spoken(cast.alice, 3000), spoken(cast.alice, threadId="other")
    before = [everything(each.pk, each.journal.head) for each in (run, other)]
    seal(run, other)
    (first,) = keys()
    assert [everything(each.pk, each.journal.head) for each in (run, other)] == before

    erasure.erase_run(cast.alice.principal, other)
    while sweeping.sweep(set()):
        pass
    (again,) = keys()
    assert again != first, "written again without the erased log"
    blocks.forget()
    assert everything(run.pk, run.journal.head) == before[0]

    erasure.erase_run(cast.alice.principal, run)
    while sweeping.sweep(set()) or purge.sweep() is not None:
        pass
    assert (keys(), SealedObject.objects.count()) == ([], 0)


def test_an_object_that_is_gone(cast: Cast, bucket: None) -> None:
    run = spoken(cast.alice)
    seal(run)
    (key,) = keys()
    asyncio.run(file_store().delete(key))
    blocks.forget()
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/events?after=0", cast.alice.headers)
    assert (answer.status, answer.code) == (503, "log_missing")
