"""The bodies of POST, PUT and PATCH."""

from typing import Any
from unittest.mock import Mock

import pytest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agui_host.protocol.errors import UnknownMember
from agui_host.teams.api.bodies import Body, without_body


class Entry(Body):
    max_size = serializers.IntegerField()


class Change(Body):
    id = serializers.IntegerField(read_only=True)
    display_name = serializers.CharField(required=False)
    archived = serializers.BooleanField(required=False)
    entries = Entry(many=True, required=False)


class Names(Body):
    names = serializers.ListField(child=serializers.CharField(), max_length=2)


class View:
    @without_body
    def post(self, request: Request) -> Response:
        return Response(status=202)


@pytest.mark.parametrize(
    "data",
    [{"displayed_name": "x"}, {"id": 1}, {"entries": [{"maxSize": 1}, {"size": 1, "max_size": 1}]}],
    ids=["misspelt", "read only", "in an object inside"],
)
def test_an_unknown_member_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(UnknownMember):
        Change(data=data).is_valid()


def test_it_is_refused_before_wrong_values_are() -> None:
    with pytest.raises(UnknownMember, match="the nearest is display_name"):
        Change.read_data({"archived": "no boolean", "displayNames": 1})


def test_known_members_are_read_in_both_spellings() -> None:
    data = {"archived": True, "displayName": "x", "entries": [{"maxSize": 1}]}
    assert Change.read_data(data) == {
        "archived": True, "display_name": "x", "entries": [{"max_size": 1}],
    }  # fmt: skip


@pytest.mark.parametrize("value", ["x", [], None])
def test_what_is_no_object_is_invalid(value: Any) -> None:
    with pytest.raises(serializers.ValidationError):
        Change.read_data(value)


def test_a_request_without_a_body_takes_no_member() -> None:
    assert View().post(Mock(data={})).status_code == 202
    with pytest.raises(UnknownMember):
        View().post(Mock(data={"force": True}))


def test_a_list_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Names.read_data({"names": ["a", "b"]}) == {"names": ["a", "b"]}
    monkeypatch.setattr(serializers.CharField, "run_validation", Mock(side_effect=AssertionError))
    with pytest.raises(serializers.ValidationError, match="no more than 2 elements"):
        Names.read_data({"names": [None] * 3})
