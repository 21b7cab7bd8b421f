"""How messages reach a command that reads its standard input: one line of JSON for each."""

import json
from functools import partial

from agui_host.runtimes.context.inbox import InboxMessage
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.open_input import OpenInput
from agui_host.runtimes.kinds.steering import Delivery, Steering


def steering_of(ctx: RunContext, command: Command, input: OpenInput, first: bytes) -> Steering:
    """Writes ``first``, the run's own input, and then each message once the run gets it."""
    if command.steering == "claude" and command.stdin == "text":
        first = _claudes(first.decode(errors="replace"))
    elif first and not first.endswith(b"\n"):
        first += b"\n"
    say = partial(_say, input, claude=command.steering == "claude")
    return Steering(ctx, say, partial(input.write, first))


async def _say(input: OpenInput, message: InboxMessage, *, claude: bool) -> Delivery:
    line = _claudes(message.content) if claude else json.dumps(message).encode() + b"\n"
    return Delivery.READ if await input.write(line) else Delivery.REFUSED


def _claudes(text: str) -> bytes:
    """A line for ``claude --input-format stream-json``."""
    content = [{"type": "text", "text": text}]
    line = {"type": "user", "message": {"role": "user", "content": content}}
    return json.dumps(line).encode() + b"\n"
