"""The ``approval`` agent: asks before it acts. It acts on a ledger in the state, nothing else."""

import json
from typing import Any, NoReturn

from agui_host.runtimes import RunContext, agent
from agui_host.runtimes.context.request import beginning

TOOL = "perform_action"
ASKED = "approve:"
MOST = 500
HELP = (
    'Tell me to do something, for example "delete report.txt". I ask before I do it, and I only '
    "write it into a ledger in the state: nothing real is touched."
)
ANSWER = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Do it?"},
        "edited": {"type": "string", "title": "Do this instead (optional)"},
    },
    "required": ["approved"],
}


@agent(
    "approval",
    description="Asks for approval before it acts.",
    default_state={"ledger": []},
    state_schema={
        "type": "object",
        "properties": {"ledger": {"type": "array", "items": {"type": "object"}}},
    },
)
async def approval(ctx: RunContext) -> str | None:
    """Propose and ask; in the run that brings the answer, act or do not."""
    for entry in ctx.resume:
        prefix, _, call_id = str(entry.get("interruptId", "")).partition(":")
        if f"{prefix}:" == ASKED and call_id:
            return conclude(ctx, call_id, entry)
    text = beginning(ctx.text, MOST)
    if not text:
        return HELP
    propose(ctx, text)


def propose(ctx: RunContext, text: str) -> NoReturn:
    """Show the call, then end the run with the question."""
    verb, _, target = text.partition(" ")
    action = {"action": verb.lower(), "target": target}
    with ctx.message() as message:
        message.write(f"I would {text.rstrip('.')}. May I?")
    with ctx.tool_call(TOOL, action, parent=message) as call:
        pass
    ctx.state.setdefault("pending", {})[call.id] = action
    ctx.interrupt(
        "tool_call",
        message=f"Approve: {text}",
        response_schema=ANSWER,
        tool_call_id=call.id,
        metadata={"action": action},
        id=ASKED + call.id,
    )


def conclude(ctx: RunContext, call_id: str, entry: dict[str, Any]) -> str:
    """Act on the answer: the old call gets its result, whatever the answer was."""
    action = proposed(ctx, call_id)
    pending = ctx.state.get("pending")
    if pending is not None:
        pending.pop(call_id, None)
    if action is None:
        return "I no longer know which question that answers, so I did nothing."
    approved, edited = read_answer(entry)
    if edited:
        verb, _, target = edited.partition(" ")
        action = {"action": verb.lower(), "target": target}
    description = f"{action.get('action', '')} {action.get('target', '')}".strip()
    ctx.tool_result(call_id, {"done": approved, **action})
    if not approved:
        return f"I did not do it: {description}."
    ctx.state.setdefault("ledger", []).append({"toolCallId": call_id, **action})
    return f"Done, in the ledger: {description}."


def proposed(ctx: RunContext, call_id: str) -> dict[str, Any] | None:
    """The action of a call: from the conversation, or else from the state."""
    for message in reversed(ctx.messages):
        for call in message.get("toolCalls") or []:
            if call.get("id") == call_id:
                try:
                    args = json.loads(call["function"]["arguments"])
                except (KeyError, TypeError, ValueError, RecursionError):
                    continue
                if isinstance(args, dict):
                    return args
    pending = ctx.state.copy().get("pending")
    entry = pending.get(call_id) if isinstance(pending, dict) else None
    return entry if isinstance(entry, dict) else None


def read_answer(entry: dict[str, Any]) -> tuple[bool, str]:
    """Whether it was approved, and the instruction instead; anything unclear counts as a no."""
    payload = entry.get("payload")
    if entry.get("status") != "resolved" or not isinstance(payload, dict):
        return entry.get("status") == "resolved" and payload is True, ""
    edited = payload.get("edited")
    return (
        payload.get("approved") is True,
        beginning(edited, MOST) if isinstance(edited, str) else "",
    )
