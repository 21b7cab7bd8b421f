"""How programs start runs of an agent: with curl, in JavaScript, in Python."""

from agui_host import links
from agui_host.runtimes.models import Agent

KEY = "AGUI_API_KEY"
"""The variable of a program's environment that has the key."""
CURL = """\
curl -N -X POST {url} \\
  -H "Authorization: Bearer $AGUI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"messages":[{{"role":"user","content":"Hello"}}]}}'"""
JAVASCRIPT = """\
import {{ HttpAgent }} from "@ag-ui/client";

const agent = new HttpAgent({{
  url: "{url}",
  headers: {{ Authorization: `Bearer ${{process.env.AGUI_API_KEY}}` }},
}});
agent.addMessage({{ id: crypto.randomUUID(), role: "user", content: "Hello" }});
const {{ newMessages }} = await agent.runAgent();
console.log(newMessages);"""
PYTHON = """\
import asyncio, os
from agui_client import AGUIClient


async def main() -> None:
    async with AGUIClient("{url}", api_key=os.environ["{key}"]) as client:
        print(await client.send("Hello"))


asyncio.run(main())"""
OPEN = """\
curl -X POST {host}/api/v1/runs \\
  -H "Authorization: Bearer $AGUI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"agent":"{slug}","input":{{}}}}'"""
FEED = """\
curl -X POST {host}/api/v1/runs/$RUN/stream \\
  -H "Authorization: Bearer $AGUI_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Producer-Id: {slug}-1" -H "Producer-Epoch: 0" -H "Producer-Seq: 0" -H "Stream-Closed: true" \\
  -d '[{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"Done."}}]'"""


def of(agent: Agent) -> list[tuple[str, str]]:
    """Titles and texts. The key comes from the environment of the program."""
    if agent.is_fed:
        values = {"host": links.absolute(""), "slug": agent.slug}
        return [
            ("1. Open a run; its id is in the answer", OPEN.format(**values)),
            ("2. Hand in its events, here all at once", FEED.format(**values)),
        ]
    url = links.absolute(f"/agui/agent/{agent.slug}/run")
    texts = (("curl", CURL), ("JavaScript", JAVASCRIPT), ("Python", PYTHON))
    return [(title, text.format(url=url, key=KEY)) for title, text in texts]
