"""What agents put into events, as plain JSON."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agui_host.protocol.values import (
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    Malformed,
    json_value,
    key_value,
    members_of,
    stamp_value,
    text_value,
)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Plain(Enum):
    ONE = {"n": 1}


@dataclass
class Point:
    x: int


class Model(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    message_id: str = Field(alias="messageId")
    note: str | None = None


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Plain.ONE, {"n": 1}),
        (Point(1), {"x": 1}),
        (Model(message_id="m"), {"messageId": "m", "note": None}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
        ({"a": {"b": [None, True, 1.5, "x"]}}, {"a": {"b": [None, True, 1.5, "x"]}}),
    ],
)
def test_values_become_plain_json(value: Any, plain: Any) -> None:
    assert json_value(value) == plain
    assert type(json_value(value)) is type(plain)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (math.nan, "not JSON"),
        ({"a": math.inf}, "not JSON"),
        (MAX_SAFE_INTEGER + 1, "2\\^53"),
        (-MAX_SAFE_INTEGER - 1, "2\\^53"),
        ({1: "x"}, "keys must be strings"),
        (nested(MAX_DEPTH + 1), "nested deeper"),
        ([object()], "a object is not JSON"),
    ],
    ids=["nan", "infinity", "large", "small", "key", "depth", "object"],
)
def test_what_some_client_could_not_read_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        json_value(value)


def test_the_deepest_value_and_one_that_contains_itself() -> None:
    assert json_value(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Malformed, match="nested deeper"):
        json_value(loop)


@pytest.mark.parametrize(
    ("value", "stamp"),
    [
        (1_700_000_000_000, 1_700_000_000_000),
        (1.6, 2),
        (True, None),
        ("1700000000000", None),
        (math.nan, None),
        (math.inf, None),
        (10**400, None),
    ],
)
def test_a_timestamp_is_a_whole_number_or_none(value: Any, stamp: int | None) -> None:
    assert stamp_value(value) == stamp


def test_texts_keys_and_members() -> None:
    assert text_value(Colour.RED) == "red"
    assert type(text_value(Colour.RED)) is str
    with pytest.raises(Malformed, match="must be a string"):
        text_value(3)
    assert key_value("a") == "a"
    assert members_of(Model(message_id="m")) == {"messageId": "m", "note": None}
    with pytest.raises(Malformed, match="must be an object"):
        members_of([1])
