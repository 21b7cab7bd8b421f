"""Sealed logs in a bucket: they read as before, and an erased one leaves the object."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.file_store import file_store
from events import purge
from events.models import SealedObject, SealedPart
from events.sealed import blocks, sweeping
from runs.lifecycle.deletion import erasure
from runs.models import Run
from tests.asgi import ask_now
from tests.backends.s3.bucket import opened, server
from tests.cast import Cast
from tests.runs.sealed.sealed_runs import own_store, seal, spoken
from tests.runs.sealed.test_reading import everything

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(300),
]  # fmt: skip
__all__ = ["own_store"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server in which each test has a bucket."""
    with server() as address:
        yield address


@pytest.fixture
def bucket(own_store: None, settings: Settings, address: str) -> Iterator[None]:
    with opened(address) as settings.AGUI_FILES:
        yield


def keys() -> list[str]:
    return list(file_store().keys("sealed"))


def read(run: Run) -> list[Any]:
    """All that readers get: from fewer places than where a log in a folder is read from."""
    return everything(run.pk, run.journal.head, apart=20)


def test_a_log_in_a_bucket(cast: Cast, bucket: None) -> None:
    run, other = spoken(cast.alice, 3000), spoken(cast.alice, threadId="other")
    before = [read(each) for each in (run, other)]
    seal(run, other)
    (first,) = keys()
    assert SealedPart.objects.filter(journal=run.pk).count() > 1, "parts of an object are read"
    assert [read(each) for each in (run, other)] == before

    erasure.erase_run(cast.alice.principal, other)
    while sweeping.sweep(set()):
        pass
    (again,) = keys()
    assert again != first, "written again without the erased log"
    blocks.forget()
    assert read(run) == before[0]

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
