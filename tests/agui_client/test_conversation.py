"""The memory of a client."""

from agui_client.conversation import Conversation

START = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def delta(text: str, message: str = "m") -> dict[str, str]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text}


def test_an_answer_is_added_up_and_remembered() -> None:
    talk = Conversation("t")
    question = talk.say("Well?")
    talk.begin()
    assert "".join(map(talk.take, [START, delta("Hel"), delta("lo"), END])) == "Hello"
    assert talk.answer == "Hello"
    assert talk.messages == [question, {"id": "m", "role": "assistant", "content": "Hello"}]


def test_only_the_assistant_answers() -> None:
    talk = Conversation("t")
    events = [{**START, "role": "developer"}, delta("secret"), delta("x", "unknown"), END]
    assert "".join(map(talk.take, events)) == ""
    assert talk.messages == []


def test_a_snapshot_replaces_the_messages_and_a_run_its_questions() -> None:
    talk = Conversation("t")
    talk.say("old")
    talk.take({"type": "MESSAGES_SNAPSHOT", "messages": []})
    talk.take(
        {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i"}]}}
    )
    assert (talk.messages, talk.interrupts) == ([], [{"id": "i"}])
    talk.begin()
    assert talk.interrupts == []
