"""The ``llm`` agent: any OpenAI-compatible endpoint, through pydantic-ai.

Registered where ``AGUI_LLM_MODEL`` is set and the ``llm`` extra is installed.
"""

import importlib.util
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from django.conf import settings

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes import RunContext, agent

if TYPE_CHECKING:
    from pydantic_ai.models import Model

NO_KEY = "none"  # Local servers need no key, but the client requires one.


def model() -> "Model":
    """The model that ``LLM_*`` name, which speaks as OpenAI's does."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(
        base_url=settings.LLM_BASE_URL or None, api_key=settings.LLM_API_KEY or NO_KEY
    )
    return OpenAIChatModel(settings.LLM_MODEL, provider=provider)


async def llm(ctx: RunContext) -> AsyncIterator[Any]:
    """Answer with the model; ``instructions`` in the agent's settings tell it how.

    The client's own tools are offered to the model. Raises RunFailed if the model failed; the
    provider's message goes only to the log.
    """
    from pydantic_ai import Agent
    from pydantic_ai.ui.ag_ui import AGUIAdapter

    answering: Agent[None, str] = Agent(model(), instructions=ctx.settings.get("instructions"))
    adapter = AGUIAdapter(agent=answering, run_input=ctx.input, include_usage=True)
    async for event in adapter.run_stream():
        if event.type == "RUN_ERROR":
            ctx.log.error("the model failed", error=getattr(event, "message", ""))
            raise RunFailed(RunErrorCode.UPSTREAM_HTTP, "The language model could not answer.")
        yield event


if settings.LLM_MODEL and importlib.util.find_spec("pydantic_ai"):
    agent("llm", description=f"Answers with {settings.LLM_MODEL}.", name="Language model")(llm)
