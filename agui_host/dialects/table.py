"""The dialects of this host. Adding one takes a fold, its line here, its addresses, and a judge.

AG-UI itself is no dialect: its readers get the stored bytes.
"""

from collections.abc import Callable
from typing import NamedTuple

from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.protocol.wire.fold import Dialect


class Entry(NamedTuple):
    """``fold`` makes the fold of one run for a reader; ``judge`` tests it with its own client."""

    name: str
    address: str
    media_type: str
    fold: Callable[[str], Dialect]
    judge: str


class Carrier(NamedTuple):
    """A wire that carries the stored events as they are, with its own cursor: no fold."""

    name: str
    address: str
    judge: str


OPENAI = "tests/conformance/dialects/test_openai.py"
SSE = "text/event-stream"
DIALECTS = (
    Entry("Alpine", "GET /runs/{id}/events", SSE, Alpine, "tests/runs/api/test_alpine.py"),
    Entry(
        "AI SDK", "POST /api/chat/{slug}", SSE, Stream, "tests/conformance/dialects/test_ai_sdk.py"
    ),
    Entry("OpenAI Responses", "POST /v1/responses", SSE, Responses, OPENAI),
    Entry("OpenAI Chat Completions", "POST /v1/chat/completions", SSE, ChatCompletion, OPENAI),
    Entry(
        "A2A",
        "POST /a2a/{slug}/message:stream",
        SSE,
        Task,
        "tests/conformance/dialects/test_a2a.py",
    ),
    Entry(
        "MCP", "POST /mcp", "application/json", CallResult, "tests/conformance/dialects/test_mcp.py"
    ),
)
CARRIERS = (
    Carrier(
        "CopilotKit Intelligence",
        "/agui/intelligence",
        "tests/conformance/dialects/test_intelligence.py",
    ),
    Carrier("TanStack AI", "/agui/agent/{slug}/run", "tests/conformance/dialects/test_tanstack.py"),
    Carrier(
        "Durable Streams",
        "/api/v1/runs/{id}/stream",
        "tests/conformance/dialects/test_durable_streams.py",
    ),
)
