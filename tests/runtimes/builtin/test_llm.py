"""The llm agent, over pydantic-ai's own stand-ins for a model."""

from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.builtin import llm
from tests.needs import need_module
from tests.runtimes.playing import of, play, run_input, text_of, types

function = need_module("pydantic_ai.models.function")


def answers_with(monkeypatch: pytest.MonkeyPatch, *pieces: str | Exception) -> None:
    """Let the model say these pieces."""

    async def stream(messages: Any, info: Any) -> Any:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    monkeypatch.setattr(llm, "model", lambda: function.FunctionModel(stream_function=stream))


async def test_the_answer_is_streamed_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers_with(monkeypatch, "Hel", "lo")
    events = await play(llm.llm, run_input("hi"), settings={"instructions": "Be brief."})
    assert text_of(events) == "Hello"
    assert len(of(events, "TEXT_MESSAGE_CONTENT")) == 2
    assert types(events)[-1] == "RUN_FINISHED"
    assert events[-1]["usage"]


async def test_what_a_provider_says_about_its_failure_stays_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers_with(monkeypatch, "Hel", ConnectionError("key sk-123 refused by 10.0.0.1"))
    events: list[Any] = []
    with pytest.raises(RunFailed) as failed:
        await play(llm.llm, run_input("hi"), into=events)
    assert failed.value.reason == RunErrorCode.UPSTREAM_HTTP
    assert "sk-123" not in failed.value.message
    assert text_of(events) == "Hel"
