"""The input of a run: one RunAgentInput, read by the names that an agent's author uses."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ag_ui.core import RunAgentInput

# AG-UI lets a client leave these out, but older SDKs require them.
INPUT_DEFAULTS: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}


def beginning(text: str, most: int) -> str:
    """The first ``most`` characters on one line, with white space reduced to single spaces."""
    return " ".join(text.lstrip()[: 10 * most].split())[:most]


class RunRequest:
    """The input of a run; ``body`` is the RunAgentInput in wire form."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    @cached_property
    def input(self) -> "RunAgentInput":
        """The body as the SDK's RunAgentInput."""
        from ag_ui.core import RunAgentInput

        present = {key: value for key, value in self.body.items() if value is not None}
        return RunAgentInput.model_validate(INPUT_DEFAULTS | present)

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return str(self.body.get("threadId", ""))

    @property
    def run_id(self) -> str:
        """This run; unique in its thread."""
        return str(self.body.get("runId", ""))

    @property
    def parent_run_id(self) -> str | None:
        """The run that spawned this one."""
        return self.body.get("parentRunId")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, in wire form."""
        return self.body.get("messages") or []

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the caller offers, as JSON."""
        return self.body.get("tools") or []

    @property
    def context(self) -> list[dict[str, Any]]:
        """Descriptions and values that the client adds for the agent."""
        return self.body.get("context") or []

    @property
    def forwarded_props(self) -> Any:
        """The application's own values; an empty dict if there are none."""
        props = self.body.get("forwardedProps")
        return {} if props is None else props

    @property
    def resume(self) -> list[dict[str, Any]]:
        """The answers to the interrupts of the run before."""
        return self.body.get("resume") or []

    @property
    def text(self) -> str:
        """The text of the last user message, its text parts joined by newlines; "" without."""
        for message in reversed(self.messages):
            if message.get("role") == "user":
                content = message.get("content")
                if isinstance(content, str):
                    return content
                parts = [part.get("text") for part in content or [] if part.get("type") == "text"]
                return "\n".join(part for part in parts if isinstance(part, str))
        return ""

    def resumed(self, interrupt_id: str | None = None) -> dict[str, Any] | None:
        """One answer, ``{interruptId, status, payload?}``: the one with that id, or the first."""
        for entry in self.resume:
            if interrupt_id is None or entry.get("interruptId") == interrupt_id:
                return entry
        return None
