"""What each reader makes of a log, in a form in which two logs can be compared."""

from collections.abc import Callable, Iterable
from typing import Any

from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.message import UIMessage
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.dialects.tanstack.wire import ui_messages
from agui_host.protocol.fold.outline import Outline
from agui_host.protocol.input.healing import heal
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.views.corrected import Corrected, Corrections
from runs.lifecycle.words.contents import _Spoken
from tests.dialects.folds import pages
from tests.dialects.folds.forms import RUN, USER, Event, folded

ROW = ("kind", "id", "parent", "lane", "name", "status", "gist", "of_input")


def corrected(log: list[Event]) -> list[Event]:
    """The log as readers of dialects get it after its end."""
    corrections = Corrections()
    for seq, event in enumerate(log, 1):
        corrections.feed(seq, event)
    view = Corrected(corrections.entries())
    return [dict(view.show(event)) for event in log]


def _fed(fold: Any, log: Iterable[Event]) -> Any:
    for event in log:
        fold.feed(event)
    return fold


def ai_sdk(log: list[Event]) -> Any:
    """The message of ``useChat``."""
    stream, message = Stream("m"), UIMessage("m")
    for event in corrected(log):
        for chunk in stream.feed(event):
            message.feed(chunk)
    return message.wire()


def alpine(log: list[Event]) -> Any:
    """The frames, with the pieces of each text joined."""
    fold, frames, texts = Alpine("run"), list[Any](), dict[Any, Any]()
    for event in corrected(log):
        for frame in fold.feed(event):
            key = frame["type"], frame.get("messageId") or frame.get("toolCallId")
            if frame.get("delta") is True and key in texts:
                texts[key]["content"] += frame["content"]
            else:
                frames.append(frame)
                texts[key] = frame
    return frames


def a2a(log: Iterable[Event]) -> Any:
    """The task. What a client puts together from the frames is the same."""
    task, artifacts = Task("run"), dict[str, str]()
    for event in log:
        for frame in task.feed(event):
            if frame["type"] == "artifactUpdate":
                update = frame["artifactUpdate"]
                key, (part,) = update["artifact"]["artifactId"], update["artifact"]["parts"]
                if not update["append"]:
                    artifacts[key] = part["text"]
                elif key in artifacts:  # Clients drop a piece of an artifact that has not begun.
                    artifacts[key] += part["text"]
    whole = {each["artifactId"]: each["parts"][0]["text"] for each in task.wire["artifacts"]}
    assert {key: text for key, text in artifacts.items() if text} == whole
    return task.wire


def outline(log: list[Event]) -> Any:
    """The rows, without the numbers of their events."""
    rows = _rows(log)
    return [{name: row[name] for name in ROW} | {"has": row["result"] is not None} for row in rows]


def _rows(log: list[Event]) -> list[Event]:
    fold = Outline()
    for seq, event in enumerate(log, 1):
        fold.feed(seq, event)
    return [row.wire() for row in fold.rows]


def long_page(log: list[Event]) -> Any:
    """What a page shows of a long run, whose outline and messages it reads."""
    return pages.page(rows=_rows(log), messages=folded(log).messages)


def pending(log: list[Event]) -> Any:
    """The calls that wait for the application, as intake lists them."""
    intake = Intake("t", "r", input={**RUN, "messages": [USER]}, history=[USER])
    for event in log[1:]:
        intake.accept(dict(event))
    return (intake.terminal or {}).get("outcome"), folded(log).pending_tool_calls


def searched(log: list[Event]) -> Any:
    """The texts that search knows of the log's messages."""
    return sorted(_fed(_Spoken(), log).texts())


READERS: dict[str, Callable[[list[Event]], Any]] = {
    "AI SDK": ai_sdk,
    "Alpine": alpine,
    "Responses": lambda log: _fed(Responses("run"), corrected(log)).response,
    "Responses, live": lambda log: _fed(Responses("run"), log).response,
    "Chat Completions": lambda log: _fed(ChatCompletion("run"), corrected(log)).completion,
    "A2A": lambda log: a2a(corrected(log)),
    "A2A, live": a2a,
    "MCP": lambda log: _fed(CallResult("run"), corrected(log)).result,
    "outline": outline,
    "pending": pending,
    "search": searched,
    "page of a short run": lambda log: pages.page(events=log),
    "page of a long run": long_page,
    "TanStack": lambda log: ui_messages(folded(log).messages),
    "messages": lambda log: folded(log).messages,
    "history": lambda log: heal(folded(log).messages).messages,
    "export": lambda log: folded(corrected(log)).messages,
}
