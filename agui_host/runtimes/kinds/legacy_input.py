"""Converts a RunAgentInput for peers of AG-UI 0.x.

The 0.x SDKs disagree: ``ag-ui-protocol`` 0.1.5 rejects every unknown member and accepts text only;
0.1.13 accepts more, but requires what 1.0 leaves out. This form suits all of them.
"""

from typing import Any

Wire = dict[str, Any]
_KEPT = ("threadId", "runId")
_TEXT_ROLES = frozenset({"developer", "system", "user"})


def legacy(body: Wire) -> Wire:
    """``body`` without what 0.x does not know: parts become their text, reasoning is dropped.

    Answers to interrupts go where frameworks read them before 1.0 settled it:
    ``forwardedProps.command.resume`` is the payload of the one answer, or the list of entries.
    """
    props = body.get("forwardedProps")
    props = {} if props is None else props
    if (answers := body.get("resume")) and isinstance(props, dict):
        resumed = answers[0].get("payload") if _is_plain(answers) else answers
        props = {**props, "command": {**_dict(props.get("command")), "resume": resumed}}
    return {
        **{name: body[name] for name in _KEPT},
        "state": {} if body.get("state") is None else body["state"],
        "messages": [
            older_message
            for message in body.get("messages") or []
            if (older_message := _message(message))
        ],
        "tools": [_tool(tool) for tool in body.get("tools") or []],
        "context": [
            {name: entry[name] for name in ("description", "value")}
            for entry in body.get("context") or []
        ],
        "forwardedProps": props,
    }


def _is_plain(answers: list[Wire]) -> bool:
    return len(answers) == 1 and answers[0].get("status") == "resolved"


def _dict(value: Any) -> Wire:
    return value if isinstance(value, dict) else {}


def _message(message: Wire) -> Wire | None:
    role, content = message["role"], _text(message.get("content"))
    common = {"id": message["id"], "role": role}
    if role in _TEXT_ROLES:
        named = {"name": message["name"]} if message.get("name") else {}
        return {**common, "content": content, **named}
    if role == "tool":
        return {**common, "content": content, "toolCallId": message["toolCallId"]}
    if role == "assistant":
        calls = [
            {name: call[name] for name in ("id", "type", "function")}
            for call in message.get("toolCalls") or []
        ]
        return {**common, "content": content, **({"toolCalls": calls} if calls else {})}
    return None


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if part.get("type") == "text"]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _tool(tool: Wire) -> Wire:
    function: Wire = {name: tool[name] for name in ("name", "description") if name in tool}
    return {"description": "", **function, "parameters": tool.get("parameters") or {}}
