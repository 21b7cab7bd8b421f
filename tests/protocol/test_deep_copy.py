"""Copies of JSON share nothing with their originals."""

import threading
from uuid import UUID

from agui_host.protocol.deep_copy import deep_copy


def test_a_change_to_the_copy_leaves_the_original_alone() -> None:
    original = {"rows": [{"n": 1}, [2.5, None, True]], "text": "x"}
    copied = deep_copy(original)
    assert copied == original
    copied["rows"][0]["n"] = 2
    copied["rows"][1].append("more")
    assert original == {"rows": [{"n": 1}, [2.5, None, True]], "text": "x"}


def test_other_values_are_copied_where_that_is_possible() -> None:
    pair = ({"n": [1]}, UUID(int=1))
    copied = deep_copy({"pair": pair})["pair"]
    assert copied == pair
    assert copied[0]["n"] is not pair[0]["n"]
    lock = threading.Lock()
    assert deep_copy([lock]) == [lock], "a lock cannot be copied, and stays what it is"
