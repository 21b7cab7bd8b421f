"""Questions as the frameworks send them."""

from typing import Any

Wire = dict[str, Any]
BATCH: Wire = {
    "action_requests": [
        {"name": "pay", "args": {"amount": 5, "to": "Ann"}, "description": "Pays a bill."},
        {"name": "mail", "args": {"to": "Ann"}},
    ],
    "review_configs": [
        {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]},
        {"action_name": "mail", "allowed_decisions": ["approve", "reject"]},
    ],
}
ONE: Wire = {
    "action_requests": BATCH["action_requests"][:1], "review_configs": BATCH["review_configs"][:1]
}  # fmt: skip
HUMAN: Wire = {
    "action_request": {"action": "pay", "args": {"amount": 5}}, "description": "Pays a bill.",
    "config": {
        "allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True
    },
}  # fmt: skip
PER_CALL: Wire = {
    "type": "tool_approval", "tool_call_id": "c", "name": "pay", "args": {"amount": 5},
    "description": "",
}  # fmt: skip


def langchain(raw: Any, name: str = "q") -> Wire:
    """As ag-ui-langgraph ends a run with it, if it is told to."""
    metadata = {"langgraph": {"raw": raw, "ns": None, "resumable": None, "when": None}}
    return {"id": name, "reason": "langgraph:interrupt", "metadata": metadata}


AG2: Wire = {
    "id": "q", "reason": "tool_call", "message": "May I pay?", "toolCallId": "c",
    "responseSchema": {"type": ["string", "boolean"], "title": "Approval"},
    "metadata": {"ag2": {"proof": "secret-1"}},
}  # fmt: skip
PYDANTIC: Wire = {
    "id": "q", "reason": "tool_call", "message": "pay", "toolCallId": "c",
    "responseSchema": {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "editedArgs": {"type": "object"},
            "reason": {"type": "string"},
        },
        "required": ["approved"],
    },
}  # fmt: skip
