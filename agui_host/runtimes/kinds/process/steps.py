"""Finds the steps of a command line in its output: groups of tool calls, or marked lines. Pure."""

from collections.abc import Iterable, Iterator

from agui_host.runtimes.kinds.process.dialect import Event

LONGEST_NAME = 200
SPEECH = frozenset({"TEXT_MESSAGE_START", "REASONING_START"})


class Steps:
    """One step at a time; ``open`` is its name.

    In a session of a dialect each group of tool calls is a step named after its first tool: from
    the first call until all results are there, or until the model speaks again, since some of the
    model's own tools give no result. A step has failed if one of its results is an error.
    """

    def __init__(self) -> None:
        self.open: str | None = None
        self._waiting: set[str] = set()
        self._failed = False

    def around(self, events: Iterable[Event]) -> Iterator[Event]:
        """A dialect's events, with the steps for its tool calls."""
        for event in events:
            kind = event["type"]
            if kind == "TOOL_CALL_START":
                if not self._waiting:
                    yield from self.begin(str(event["toolCallName"]))
                self._waiting.add(event["toolCallId"])
            elif kind in SPEECH and self._waiting:
                yield from self.end()
            yield event
            if kind == "TOOL_CALL_RESULT" and event["toolCallId"] in self._waiting:
                self._waiting.remove(event["toolCallId"])
                self._failed |= "metadata" in event
                if not self._waiting:
                    yield from self.end()

    def begin(self, name: str) -> Iterator[Event]:
        """End the previous step and begin this one; a blank name only ends it."""
        yield from self.end()
        if name := name.strip()[:LONGEST_NAME]:
            self.open = name
            yield {"type": "STEP_STARTED", "stepName": name}

    def end(self) -> Iterator[Event]:
        """The end of the open step, if there is one."""
        if self.open is not None:
            failed = {"metadata": {"status": "failed"}} if self._failed else {}
            yield {"type": "STEP_FINISHED", "stepName": self.open, **failed}
        self.open, self._failed = None, False
        self._waiting.clear()
