"""The builder of the schema table's shapes."""

import pytest

from agui_host.protocol.shapes import Leaf, Many, shape, snake


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("messageId", "message_id"),
        ("id", "id"),
        ("parentRunId", "parent_run_id"),
        ("sha256Sum", "sha256_sum"),
    ],
)
def test_names_have_a_spelling_of_python(name: str, python: str) -> None:
    assert snake(name) == python


def test_both_spellings_lead_to_one_field() -> None:
    built = shape("messageId", "parts note", parts=Many(Leaf.JSON), defaults={"messageId": "m"})
    assert built.fields["message_id"] is built.fields["messageId"]
    assert built.required == ("messageId",)
    assert [name for name, field in built.fields.items() if field.required] == [
        "message_id", "messageId",
    ]  # fmt: skip
    assert built.fields["note"].kind is Leaf.TEXT, "a field is text unless its kind is named"
    assert built.fields["parts"].kind == Many(Leaf.JSON)
    assert built.defaults == {"messageId": "m"}
    assert not built.open


def test_a_kind_for_a_field_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no such field"):
        shape("id", nmae=Leaf.JSON)
