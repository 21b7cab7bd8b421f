"""Heals a conversation before an agent is given it: calls, their results, and their arguments.

Providers refuse a conversation in which a result has no call, a call has no result, or a result
does not directly follow its call, and they refuse it again in each later turn. Clients send such
messages, runs are cancelled within a call, and snapshots rename results. Only the agent's input is
healed; the stored messages stay as they are.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agui_host.protocol.input.arguments import legal

Wire = dict[str, Any]

RULE = "history"
"""The rule of the findings about it; the actions are in ``agui_host.protocol.intake.findings``."""
LEFT_OUT, MOVED, ANSWERED, COMPLETED = "left_out", "moved", "answered", "completed"
NOT_EXECUTED = "The tool was not executed: its run ended before the call had a result."


@dataclass(frozen=True, slots=True)
class Healed:
    """The messages for the agent, and how often each repair was needed."""

    messages: list[Wire]
    repairs: Mapping[str, int]


class _Calls:
    """An assistant message with calls, and the results that belong after it."""

    __slots__ = ("message", "newest", "open", "results")

    def __init__(self, message: Wire) -> None:
        self.message = message
        self.open = Counter(call["id"] for call in message["toolCalls"])
        self.results: list[Wire] = []
        self.newest: dict[str, int] = {}

    def take(self, result: Wire) -> bool:
        """Add a result; False if it takes the place of an earlier one of the same call."""
        call_id = result["toolCallId"]
        if self.open[call_id]:
            self.open[call_id] -= 1
            self.newest[call_id] = len(self.results)
            self.results.append(result)
            return True
        self.results[self.newest[call_id]] = result
        return False

    def wire(self, waiting: Collection[str], repairs: Counter[str]) -> Iterator[Wire]:
        """The message and its results; a substitute for each call without a result."""
        calls = [_with_legal_arguments(call, repairs) for call in self.message["toolCalls"]]
        yield self.message if calls == self.message["toolCalls"] else {
            **self.message, "toolCalls": calls,
        }  # fmt: skip
        yield from self.results
        for call_id in self.open.elements():
            if call_id not in waiting:
                repairs[ANSWERED] += 1
                yield _not_executed(call_id)


def heal(messages: Iterable[Wire], waiting: Collection[str] = ()) -> Healed:
    """Heal a conversation; ``waiting`` are calls that stay open, since this run brings answers.

    If a call id occurs in several messages, a result belongs to the newest one before it that has
    none yet. Of several results for one call the last one counts.
    """
    repairs: Counter[str] = Counter()
    healed: list[Wire | _Calls] = []
    by_call: dict[str, list[_Calls]] = {}
    early: dict[str, deque[Wire]] = {}
    current: _Calls | None = None
    for message in messages:
        if message["role"] == "tool":
            carriers = by_call.get(message["toolCallId"])
            if carriers is None:
                early.setdefault(message["toolCallId"], deque()).append(message)
                continue
            carrier = _carrier(carriers, message["toolCallId"])
            repairs[LEFT_OUT] += not carrier.take(message)
            repairs[MOVED] += carrier is not current
        elif message["role"] == "assistant" and message.get("toolCalls"):
            current = _Calls(message)
            healed.append(current)
            for call_id in dict.fromkeys(current.open):
                by_call.setdefault(call_id, []).append(current)
                for first in early.pop(call_id, ()):
                    repairs[LEFT_OUT] += not current.take(first)
                    repairs[MOVED] += 1
        else:
            current = None
            healed.append(message)
    repairs[LEFT_OUT] += sum(map(len, early.values()))
    wire = list(_wire(healed, waiting, repairs))
    return Healed(wire, {action: times for action, times in repairs.items() if times})


def last_calls(messages: list[Wire]) -> set[str]:
    """The calls of the assistant's last turn, before what users have said since."""
    calls: set[str] = set()
    is_within = False
    for message in reversed(messages):
        if message["role"] in ("assistant", "tool", "reasoning", "activity"):
            is_within = True
            calls.update(call["id"] for call in message.get("toolCalls") or ())
        elif is_within:
            break
    return calls


def _carrier(carriers: list[_Calls], call_id: str) -> _Calls:
    """The newest message with this call that has no result yet, else the newest one."""
    while len(carriers) > 1 and not carriers[-1].open[call_id] and carriers[-2].open[call_id]:
        carriers.pop()
    return carriers[-1]


def _wire(
    healed: Iterable[Wire | _Calls], waiting: Collection[str], repairs: Counter[str]
) -> Iterator[Wire]:
    for each in healed:
        if isinstance(each, _Calls):
            yield from each.wire(waiting, repairs)
        else:
            yield each


def _with_legal_arguments(call: Wire, repairs: Counter[str]) -> Wire:
    function = call["function"]
    arguments = legal(function["arguments"])
    if arguments == function["arguments"]:
        return call
    repairs[COMPLETED] += 1
    return {**call, "function": {**function, "arguments": arguments}}


def _not_executed(call_id: str) -> Wire:
    name = f"{call_id}~not-executed"
    return {"id": name, "role": "tool", "toolCallId": call_id, "content": NOT_EXECUTED}
