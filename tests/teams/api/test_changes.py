"""The body of a PATCH."""

from typing import Any

import pytest
from rest_framework import serializers

from teams.api.changes import LONGEST, ChangeSerializer, UnknownMember


class Change(ChangeSerializer):
    display_name = serializers.CharField(required=False)
    archived = serializers.BooleanField(required=False)


def refused(data: dict[str, Any]) -> UnknownMember:
    with pytest.raises(UnknownMember) as raised:
        Change(data=data).is_valid()
    return raised.value


def test_a_name_that_is_misspelt_is_refused_with_the_nearest() -> None:
    error = refused({"displayName": "x"})
    assert "the nearest is display_name" in error.message
    assert error.details == {
        "path": "displayName", "nearest": "display_name", "known": ["archived", "display_name"],
    }  # fmt: skip


def test_a_name_that_is_like_no_other_is_refused_in_short() -> None:
    error = refused({"z" * 500: 1, "archived": "no boolean"})
    assert error.details["nearest"] is None
    assert error.details["path"] == "z" * LONGEST
    assert len(error.message) < 200


def test_known_members_are_read() -> None:
    change = Change(data={"archived": True})
    assert change.is_valid()
    assert change.validated_data == {"archived": True}
