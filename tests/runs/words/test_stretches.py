"""The newest matches, whenever they were: as many as are needed, and none is missing among them."""

import random
import time
from uuid import UUID

import pytest
from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, TextField, Value

from agui_host.protocol.ids import uuid7_floor
from runs.lifecycle.words import search, stretches
from runs.lifecycle.words.cut import lexemes
from runs.models import RunWords
from tests.cast import Cast

pytestmark = pytest.mark.django_db

HOUR, DAY, YEAR = 3_600, 86_400, 365 * 86_400
SPREADS = {
    "now": [0.0] * 40,
    "minutes": [60.0 * n for n in range(40)],
    "one of two years ago": [2 * YEAR],
    "many of two years ago": [2 * YEAR + n for n in range(40)],
    "few now, many of a year ago": [*range(3), *(YEAR + 7 * n for n in range(40))],
    "rarer and rarer": [1.6**n for n in range(38)],
    "ahead of our clock": [-600.0, -60.0, 5.0, DAY],
    "none": [],
}


def _vector(cut: list[str]) -> Func:
    return Func(Value(cut, output_field=ArrayField(TextField())), function="array_to_tsvector")


def store(cast: Cast, ages: list[float]) -> list[UUID]:
    """Words of runs of these ages in seconds; the newest first."""
    dice = random.Random(7)
    now = time.time()
    ids = sorted(UUID(int=uuid7_floor(now - age).int + dice.getrandbits(60)) for age in ages)
    for run_id in ids:
        cut = lexemes(cast.team.pk, ["refund", *stretches.of(run_id)])
        RunWords.objects.create(run_id=run_id, team=cast.team, due=0, words=_vector(cut))
    return ids[::-1]


@pytest.mark.parametrize("enough", [1, 10, 100])
@pytest.mark.parametrize("spread", SPREADS)
def test_none_is_missing_among_the_newest(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, spread: str, enough: int
) -> None:
    monkeypatch.setattr(search, "ENOUGH", enough)
    ids = store(cast, SPREADS[spread])
    for below in (None, *ids[::7], *ids[-1:]):
        expected = [each for each in ids if below is None or each < below]
        matches = search.newest(cast.team.pk, "refund", below)
        assert sorted(matches.ids, reverse=True) == expected[: len(matches.ids)]
        assert matches.complete or len(matches.ids) >= enough
        if matches.complete:
            assert len(matches.ids) == len(expected)
        if spread == "minutes":
            assert len(matches.ids) < 3 * enough


def test_a_run_is_in_one_stretch_of_each_level() -> None:
    run = uuid7_floor(60 * (4**10 * 27 + 5))
    names = stretches.of(run)
    assert names[0] == f"#0.{4**10 * 27 + 5}"
    assert names[1] == f"#1.{4**9 * 27 + 1}"
    assert names[10] == "#10.27"
    assert len(names) == 11
