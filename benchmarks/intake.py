"""What intake costs per event, beside the SDK's own cost in the same run.

    python -m benchmarks.intake

Promise: gate, verifier and encoding take at most 6 µs per text delta beyond the SDK's build.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import jsonpatch
from ag_ui.core import TextMessageContentEvent

from agui_host.protocol.encoding import encode
from agui_host.protocol.intake.gate import gate
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.patch import apply

N = 20_000
ROUNDS = 7
START = {"type": "TEXT_MESSAGE_START", "messageId": "message-0001"}
TEXTS = [f" word{number} grüße"[: 6 + number % 9] for number in range(N)]
STATE: dict[str, Any] = {
    "type": "STATE_SNAPSHOT",
    "snapshot": {"rows": [{"id": i, "name": f"row {i}", "score": i / 7} for i in range(300)]},
}
OPERATION = {"op": "replace", "path": "/rows/150/score", "value": 0.5}
CHANGE = {"type": "STATE_DELTA", "delta": [OPERATION]}
PATCHES = [[OPERATION]] * 2000


def sdk_build(text: str) -> TextMessageContentEvent:
    return TextMessageContentEvent(message_id="message-0001", delta=text)


def dicts(**more: Any) -> list[dict[str, Any]]:
    kind = "TEXT_MESSAGE_CONTENT"
    return [{"type": kind, "messageId": "message-0001", "delta": t, **more} for t in TEXTS]


def best(step: Callable[[Any], Any], events: list[Any]) -> float:
    """The best of a few rounds, in µs per event."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for event in events:
            step(event)
        times.append((time.perf_counter() - begin) / len(events))
    return min(times) * 1e6


def accept(*before: Any, repair: bool = True) -> Callable[[Any], Any]:
    intake = Intake("thread", "run", repair=repair)
    for event in (START, *before):
        intake.accept(event)
    return intake.accept


def take_together(events: list[Any]) -> None:
    """Deltas that wait in a queue, as those of an agent that does not pause."""
    intake, queue = Intake("thread", "run"), deque(events)
    intake.accept(START)
    while queue:
        intake.further(queue, 512)


def jsonpatched(delta: Any) -> Any:
    return jsonpatch.apply_patch(STATE["snapshot"], delta, in_place=True)


def sdk_encode(event: TextMessageContentEvent) -> bytes:
    encoded: bytes = event.__pydantic_serializer__.to_json(event, by_alias=True, exclude_none=True)
    return encoded


def measured() -> Iterable[tuple[str, float]]:
    """Each line of the table, as (what, µs)."""
    objects, plain = [sdk_build(text) for text in TEXTS], dicts()
    yield "SDK: build", best(sdk_build, TEXTS)
    yield "SDK: encode", best(sdk_encode, objects)
    yield "intake.accept(dict)", best(accept(), plain)
    yield "intake.accept(SDK object)", best(accept(), objects)
    yield "intake.further(dicts in a queue)", best(take_together, [plain]) / N
    yield "intake.accept(dict with timestamp)", best(accept(), dicts(timestamp=1_700_000_000_000))
    yield "intake.accept(dict with metadata)", best(accept(), dicts(metadata={"k": 1}))
    chunks = [{**event, "type": "TEXT_MESSAGE_CHUNK"} for event in plain]
    yield "intake.accept(chunk)", best(Intake("thread", "run").accept, chunks)
    yield "intake.accept(snapshot of 1,200 values)", best(accept(), [STATE] * 50)
    yield "intake.accept(dict), strict", best(accept(repair=False), plain)
    yield "intake.accept(dict), state followed", best(accept(STATE, CHANGE), plain)
    yield "intake.accept(patch of that state)", best(accept(STATE), [CHANGE] * 2000)
    yield (
        "  of it agui_host.protocol.patch",
        best(lambda delta: apply(STATE["snapshot"], delta), PATCHES),
    )
    yield "  jsonpatch, in place", best(jsonpatched, PATCHES)
    verifier = Verifier()
    for event in ({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, START):
        verifier.feed(event)
    stamped = dicts(timestamp=1_700_000_000_000)
    yield "  of it gate", best(gate, plain)
    yield "  of it verifier", best(verifier.feed, plain)
    yield "  of it encode", best(encode, stamped)


def main() -> None:
    for what, cost in measured():
        print(f"{what:42} {cost:8.2f} µs")


if __name__ == "__main__":
    main()
