"""Every way to read a run returns the same bytes once its log is sealed."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from agui_host.backends.postgres.bridge import db
from events.models import Event, SealedPart
from events.sealed import blocks
from tests.runs.sealed.sealed_runs import own_store, seal
from tests.tenancy.readers import Reader
from tests.tenancy.test_sight import CASES, House, house

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["house", "own_store"]
PASSING = re.compile(rb'"joinToken":"[^"]*"|[0-9]+ (?:ms|[smh]) ago|just now')
"""What is new in every answer; in pages also the lines with nonces and tokens."""


@pytest.mark.parametrize("reader", CASES)
async def test_every_reader_gets_the_same(house: House, reader: Reader) -> None:
    run = house.runs[0]
    readers = house.readers | house.whole
    once = {name: await reader.read(headers, run, "") for name, headers in readers.items()}
    before = {name: await reader.read(headers, run, "") for name, headers in readers.items()}
    await db(lambda: seal(*house.runs))
    blocks.forget()
    assert await db(_rows, house) == (0, len(house.runs))
    after = {name: await reader.read(headers, run, "") for name, headers in readers.items()}
    for name in readers:
        lines = [PASSING.sub(b"", each[name]).split(b"\n") for each in (once, before, after)]
        assert len(set(map(len, lines))) == 1, name
        changed = [
            (old, new) for first, old, new in zip(*lines, strict=True) if first == old != new
        ]
        assert not changed, (name, changed)


def _rows(house: House) -> tuple[int, int]:
    keys = [run.pk for run in house.runs]
    assert Path(settings.AGUI_FILES).exists()
    return (
        Event.objects.filter(journal_id__in=keys).count(),
        SealedPart.objects.filter(journal_id__in=keys).count(),
    )
