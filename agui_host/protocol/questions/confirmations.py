"""Confirmations whose payload is a word, a boolean or a small object: AG2's, ADK's and Agno's.

| framework | its question | yes | no, with a reason |
| --- | --- | --- | --- |
| AG2 | an interrupt whose schema has the type ``["string", "boolean"]`` | ``true`` | ``false`` |
| ADK | a call of ``adk_request_confirmation`` | ``{"confirmed": true}`` | ``payload.reason`` |
| Agno | a call of a tool with ``requires_confirmation`` | ``{"accepted": true}`` | ``note`` |

ADK's and Agno's are calls without a result; ``rules.py`` makes them questions.
"""

from collections.abc import Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema, check
from agui_host.protocol.questions.decision import Decision


class Words(Approval):
    """AG2's: a boolean or a text, including words like ``always``."""

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """``true`` or ``false``: AG2 takes no reason, which stays in the answer's metadata."""
        check(self.actions[0], decisions[0])
        return decisions[0].approved


class Confirmation(Approval):
    """``yes`` is the member that decides. A reason and other arguments have members, if any."""

    yes = ""

    def __init__(self, action: Action, members: Schema) -> None:
        schema = {
            "type": "object",
            "properties": {self.yes: {"type": "boolean"}, **members},
            "required": [self.yes],
        }
        super().__init__([action], schema)

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """The content of the call's result. Raises Undecidable."""
        (decision,) = decisions
        check(self.actions[0], decision)
        return {self.yes: decision.approved, **self.more(decision)}

    def more(self, decision: Decision) -> dict[str, Any]:
        """The other members of the payload."""
        raise NotImplementedError


class Adk(Confirmation):
    """Google ADK's ToolConfirmation; its payload is as the tool asked, if at all."""

    yes = "confirmed"

    def __init__(self, action: Action) -> None:
        super().__init__(action, {"payload": {}})

    def more(self, decision: Decision) -> dict[str, Any]:
        """``payload``: the edited one, or the reason of a no."""
        if decision.arguments is not None:
            return {"payload": dict(decision.arguments)}
        return {"payload": {"reason": decision.reason}} if decision.reason else {}


class Agno(Confirmation):
    """Agno's confirmation of a tool."""

    yes = "accepted"

    def __init__(self, action: Action) -> None:
        super().__init__(action, {"note": {"type": "string"}})

    def more(self, decision: Decision) -> dict[str, Any]:
        """``note``: the reason."""
        return {"note": decision.reason} if decision.reason else {}
