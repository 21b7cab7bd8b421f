"""AgentServer: ``python agentserver_app.py PORT``; its state is below AGENTSERVER_STATE_ROOT."""

import sys
from typing import Any

import script
from azure.ai.agentserver.responses import (
    ResponsesAgentServerHost,
    ResponsesServerOptions,
    TextResponse,
)

app = ResponsesAgentServerHost(options=ResponsesServerOptions(resilient_background=True))


@app.response_handler
async def speak(request: Any, context: Any, cancellation_signal: Any) -> Any:
    """The agent."""
    message = await context.get_input_text()
    return TextResponse(context, request, text=script.deltas(message))


if __name__ == "__main__":
    app.run("127.0.0.1", int(sys.argv[1]))
