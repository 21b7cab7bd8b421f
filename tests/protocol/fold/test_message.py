"""One message or call while events add to it."""

from agui_host.protocol.fold.message import Message, merge, only


def assistant() -> Message:
    function = {"name": "look", "arguments": "{"}
    call = {"id": "c", "type": "function", "function": function}
    return Message({"id": "m", "role": "assistant", "content": "a", "toolCalls": [call]})


def test_deltas_are_joined_when_the_message_is_read() -> None:
    message = assistant()
    message.deltas += ["b", "c"]
    assert message.calls is not None
    message.calls[0].args += ['"q"', ":1}"]
    for _ in range(2):
        wire = message.wire()
        assert wire["content"] == "abc"
        assert wire["toolCalls"][0]["function"] == {"name": "look", "arguments": '{"q":1}'}


def test_a_text_begins_where_there_was_none() -> None:
    message = Message({"id": "m", "role": "assistant"})
    message.deltas.append("first")
    assert message.wire() == {"id": "m", "role": "assistant", "content": "first"}


def test_what_was_read_does_not_change_with_later_events() -> None:
    message = assistant()
    earlier = message.wire()
    message.deltas.append("!")
    assert message.calls is not None
    message.calls[0].args.append("}")
    assert message.wire()["content"] == "a!"
    assert earlier["content"] == "a"
    assert earlier["toolCalls"][0]["function"]["arguments"] == "{"


def test_another_message_takes_its_place() -> None:
    message = assistant()
    message.become({"id": "m", "role": "activity", "content": {"n": 1}})
    assert message.is_activity
    assert message.calls is None
    assert message.wire() == {"id": "m", "role": "activity", "content": {"n": 1}}


def test_metadata_merges_by_key_and_the_last_write_wins() -> None:
    target: dict[str, object] = {"metadata": {"a": 1, "b": 1}}
    merge(target, {"metadata": {"b": 2}})
    merge(target, {})
    assert target == {"metadata": {"a": 1, "b": 2}}
    merge(bare := {"metadata": None}, {"metadata": {"c": 3}})
    assert bare == {"metadata": {"c": 3}}
    assert only({"a": 1, "b": None, "c": 3}, "a", "b", "d") == {"a": 1, "b": None}
