"""A remote agent made with ``agui_client.AGUIServer``, without a model.

It knows nothing but the context that it gets, quotes one sentence, and counts the context's entries
in its state.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_client.server import AGUIServer

QUOTE = 'The lease "runs for twelve months" [1]. '


async def advise(input: dict[str, Any]) -> AsyncIterator[Any]:
    context = input.get("context") or []
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"entries": len(context)}}
    yield QUOTE
    for entry in context:
        yield f"I was told: {entry['value']} "


app = AGUIServer(advise, title="Adviser").create_app()
