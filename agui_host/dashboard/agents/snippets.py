"""How programs start runs of an agent: with curl, in JavaScript, in Python."""

from agui_host import links
from agui_host.runtimes.models import Agent

KEY = "AGUI_API_KEY"
"""The variable of a program's environment that has the key."""
CURL = """\
curl -N -X POST {url} \\
  -H "Authorization: Bearer {key}" \\
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
NODE = """\
// Save it as hello.mjs and run: node hello.mjs
const answer = await fetch("{url}", {{
  method: "POST",
  headers: {{
    Authorization: "Bearer {key}",
    "Content-Type": "application/json",
  }},
  body: JSON.stringify({{ messages: [{{ role: "user", content: "Hello" }}] }}),
}});
if (!answer.ok) throw new Error(await answer.text());
for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {{
  process.stdout.write(part);
}}"""
LIST = """\
curl -H "Authorization: Bearer {key}" \\
  '{url}'"""
NODE_LIST = """\
// Save it as runs.mjs and run: node runs.mjs
const answer = await fetch("{url}", {{
  headers: {{ Authorization: "Bearer {key}" }},
}});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());"""
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
    url = _address(agent)
    return [
        ("curl", CURL.format(url=url, key=f"${KEY}")),
        ("JavaScript", JAVASCRIPT.format(url=url)),
        ("Python", PYTHON.format(url=url, key=KEY)),
    ]


def ready(key: str, agent: Agent | None) -> list[tuple[str, str]]:
    """Titles and texts that work as they are, with the key in them and nothing to install.

    They start a run of ``agent``; without one they list runs.
    """
    url = links.absolute("/api/v1/runs?limit=5") if agent is None else _address(agent)
    texts = (LIST, NODE_LIST) if agent is None else (CURL, NODE)
    titles = ("curl", "JavaScript (Node.js 18 or newer)")
    return [
        (title, text.format(url=url, key=key)) for title, text in zip(titles, texts, strict=True)
    ]


def _address(agent: Agent) -> str:
    return links.absolute(f"/agui/agent/{agent.slug}/run")
