"""A client's memory of its thread: enough to continue, even with stateless servers."""

import uuid
from typing import Any

Event = dict[str, Any]


class Conversation:
    """The messages of a thread, the text of the newest run, the questions it ended with."""

    def __init__(self, thread_id: str | None) -> None:
        self.thread_id = thread_id or str(uuid.uuid4())
        self.messages: list[Event] = []
        self.state: Any = None
        self.interrupts: list[Event] = []
        self._texts: dict[str, list[str]] = {}
        self._before: list[Event] = []

    def say(self, text: str) -> Event:
        """A new message of the user."""
        message = {"id": str(uuid.uuid4()), "role": "user", "content": text}
        self.messages.append(message)
        return message

    def begin(self) -> None:
        """Begin a run, with its own text and questions."""
        self._texts, self.interrupts = {}, []
        self._before = list(self.messages)

    def begin_again(self) -> None:
        """Forget the run's messages: its log is read again."""
        self.messages = self._before
        self.begin()

    @property
    def answer(self) -> str:
        """The assistant's text in this run; messages are separated by an empty line."""
        return "\n\n".join(filter(None, map("".join, self._texts.values())))

    def take(self, event: Event) -> str:
        """Follow an event; returns the text it adds to the answer."""
        match event["type"]:
            case "TEXT_MESSAGE_START" if event.get("role", "assistant") == "assistant":
                self._texts.setdefault(event["messageId"], [])
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in self._texts:
                self._texts[event["messageId"]].append(event["delta"])
                return str(event["delta"])
            case "TEXT_MESSAGE_END" if event["messageId"] in self._texts:
                text = "".join(self._texts[event["messageId"]])
                self.messages.append(
                    {"id": event["messageId"], "role": "assistant", "content": text}
                )
            case "MESSAGES_SNAPSHOT":
                self.messages = list(event["messages"])
            case "RUN_FINISHED":
                outcome = event.get("outcome") or {}
                self.interrupts = outcome.get("interrupts") or []
        return ""
