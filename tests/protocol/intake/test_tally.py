"""What a run did is counted as its events pass, also when it is fed batch by batch."""

from itertools import count

from agui_host.protocol.intake.fed import FedIntake
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.tally import Tally

EVENTS = [
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "d", "toolCallName": "look", "delta": "{"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"},
]


def figures(tally: Tally | None) -> list[object]:
    assert tally
    return tally.dump()


def test_calls_subagents_and_the_first_piece_are_counted() -> None:
    intake = Intake("t", "r", clock=count(1).__next__)
    records = [record for event in EVENTS for record in intake.accept(event)]
    first = next(record.at for record in records if record.type == "TOOL_CALL_ARGS")
    assert figures(intake.tally) == [2, 1, first]


def test_the_first_delta_counts_where_it_takes_the_short_way() -> None:
    intake = Intake("t", "r", clock=count(1).__next__)
    for event in EVENTS[3:5]:
        records = intake.accept(event)
    assert figures(intake.tally) == [0, 0, records[0].at]
    intake.accept(EVENTS[5])
    assert figures(intake.tally) == [0, 0, records[0].at]


def test_a_run_that_is_fed_remembers_them() -> None:
    intake = FedIntake("t", "r")
    log = [record.payload.decode() for event in EVENTS for record in intake.accept(event)]
    again = FedIntake("t", "r")
    again.replay(log)
    again.remember(intake.memory)
    assert figures(again.tally) == figures(intake.tally)


def test_they_are_unknown_where_the_log_began_elsewhere() -> None:
    assert Intake.reopened("t", "r", head=3).tally is None
    assert figures(Intake.reopened("t", "r", head=0).tally) == [0, 0, None]
