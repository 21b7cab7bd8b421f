"""Answers are the JSON that DRF writes, whatever they contain."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.serializer_helpers import ReturnDict

from agui_host.teams.api.renderers import QuickJSONRenderer

MOMENT = datetime(2026, 11, 30, 3, 2, 8, 4, tzinfo=UTC)
VALUES: list[Any] = [
    None,
    {"a": [1, True, None, 0.1, "é\u2028\u2029"]},
    {"moment": MOMENT, "local": MOMENT.astimezone(timezone(timedelta(hours=2)))},
    {"day": date(2026, 11, 30), "id": UUID(int=7), "cost": Decimal("0.25"), 1: timedelta(hours=1)},
    ReturnDict(
        {"results": [ReturnDict({"n": 2**70}, serializer=cast(Any, None))]},
        serializer=cast(Any, None),
    ),
]


@pytest.mark.parametrize("value", VALUES)
def test_the_answer_is_the_same(value: Any) -> None:
    quick, slow = QuickJSONRenderer().render(value), JSONRenderer().render(value)
    assert quick == slow


def test_a_client_can_ask_for_indentation() -> None:
    text = QuickJSONRenderer().render({"a": 1}, "application/json; indent=2")
    assert text == b'{\n  "a": 1\n}'


def test_not_a_number_is_null() -> None:
    assert json.loads(QuickJSONRenderer().render({"a": float("nan")})) == {"a": None}
