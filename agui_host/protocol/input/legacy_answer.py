"""Answers to a run's questions: ``resume``, or what clients from before AG-UI 1.0 send.

Those send ``forwardedProps.command.resume``: one value, without the name of a question.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Wire = dict[str, Any]

EVENT = "interruptEvent"
"""The member of ``command`` by which CopilotKit names the question: the CUSTOM event's value."""


def is_answering(body: Mapping[str, Any]) -> bool:
    """Whether an input brings answers of either form."""
    return bool(body.get("resume")) or value_of(body) is not None


def value_of(body: Mapping[str, Any]) -> Any:
    """The value of a legacy answer; None without one, as ``null`` is to all frameworks."""
    return _command(body).get("resume")


def without(props: Any) -> Any:
    """``forwardedProps`` without a legacy answer."""
    if not isinstance(props, dict):
        return props
    return {name: value for name, value in props.items() if name != "command"}


def entries(value: Any, names: Sequence[str]) -> list[Wire]:
    """A legacy answer as a ``resume`` that answers these open questions.

    The value is the payload for each question, unless it has one for each: an object by the
    questions' ids, or a list of entries of a ``resume``.
    """
    known = frozenset(names)
    if isinstance(value, list) and value and all(_is_entry(each, known) for each in value):
        return [{"status": "resolved", **entry} for entry in value]
    if isinstance(value, dict) and value.keys() == known:
        payloads = value
    else:
        payloads = dict.fromkeys(names, value)
    return [
        {"interruptId": name, "status": "resolved", "payload": payloads[name]} for name in names
    ]


def answers_one_of(body: Mapping[str, Any], questions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a legacy answer is for one of these CUSTOM events, as far as it names one."""
    if not questions or (event := _command(body).get(EVENT)) is None:
        return bool(questions)
    return any(event in (question["value"], _parsed(question["value"])) for question in questions)


def _command(body: Mapping[str, Any]) -> Mapping[str, Any]:
    props = body.get("forwardedProps")
    command = props.get("command") if isinstance(props, dict) else None
    return command if isinstance(command, dict) else {}


def _is_entry(value: Any, names: Collection[str]) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(name := value.get("interruptId"), str)
        and name in names
        and value.get("status") in (None, "resolved", "cancelled")
    )


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return value
