"""The lists of an agent's middleware and context providers: what is refused, and how it is said."""

import re
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agui_host.runtimes.options import MOST, BadOptions, parse_options


class Cut:
    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")

        most: int = Field(default=5, ge=1)


def parsed(value: Any) -> list[tuple[type[Cut], Any]]:
    return parse_options(value, {"cut": Cut}, "things", "cut")


def test_each_entry_is_its_kind_and_its_options() -> None:
    (first, default), (_, three) = parsed([{"name": "cut"}, {"name": "cut", "most": 3}])
    assert first is Cut
    assert (default.most, three.most) == (5, 3)
    assert parsed([]) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, 'a list of objects such as {"name": "cut"}.'),
        ([{"name": "cut"}] * (MOST + 1), f"at most {MOST} things."),
        ([{"name": "cut"}, {"name": "gone"}], 'things[1] needs a "name", one of: cut.'),
        (["cut"], 'things[0] needs a "name", one of: cut.'),
        ([{"name": ["cut"]}], 'things[0] needs a "name", one of: cut.'),
        ([{"name": "cut", "more": 1}], "things[0] (cut): unknown option 'more'."),
        ([{"name": "cut", "most": 0}], "things[0] (cut): most: "),
    ],
)
def test_the_message_names_the_entry_and_what_is_wrong(value: Any, message: str) -> None:
    with pytest.raises(BadOptions, match=re.escape(message)):
        parsed(value)
