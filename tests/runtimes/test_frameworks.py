"""docs/examples/frameworks.md: agents of frameworks, in this process and without a key."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from pytest_django import Settings

from agui_host.runtimes import registry
from agui_host.runtimes.builtin import llm
from tests.house.repository import ROOT
from tests.needs import need_module
from tests.runtimes.playing import of, play, run_input, text_of, types

need_module("pydantic_ai")
need_module("ag_ui_langgraph")

PAGE = (ROOT / "docs" / "examples" / "frameworks.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "_agents", {})
    for number, example in enumerate(EXAMPLES):
        exec(example, {"__name__": f"example_{number}"})  # noqa: S102
    return {slug: agent.target for slug, agent in registry.all().items()}


@pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated")
async def test_a_graph_asks_and_goes_on(agents: dict[str, Any]) -> None:
    events = await play(agents["graph"], run_input("go"))
    assert types(events)[0] == "RUN_STARTED"
    assert "Shall I?" in str(events)
    assert "The answer was" not in str(events)
    (question,) = events[-1]["outcome"]["interrupts"]
    entry = {"interruptId": question["id"], "status": "resolved", "payload": "yes"}
    answer = {"runId": "r2", "resume": [entry]}
    events = await play(agents["graph"], {**run_input("go"), **answer})
    assert "The answer was: yes" in str(events)
    assert types(events)[-1] == "RUN_FINISHED"


async def test_a_tool_of_pydantic_ai(agents: dict[str, Any]) -> None:
    events = await play(agents["weather"], run_input("How warm is it?"))
    (call,) = of(events, "TOOL_CALL_START")
    assert call["toolCallName"] == "temperature"
    assert of(events, "TOOL_CALL_RESULT")[0]["content"] == "21"
    assert "21" in text_of(events)


class Completions(BaseHTTPRequestHandler):
    """What an OpenAI-compatible server says to a streamed chat."""

    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        type(self).bodies.append(json.loads(self.rfile.read(length)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        about = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        for delta, why in (({"content": "Hel"}, None), ({"content": "lo"}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": why}
            chunk = {**about, "choices": [choice]}
            self.wfile.write(b"data: %b\n\n" % json.dumps(chunk).encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def completions(settings: Settings) -> Iterator[type[Completions]]:
    Completions.bodies.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    settings.LLM_MODEL = "local-model"
    settings.LLM_BASE_URL = f"http://127.0.0.1:{server.server_port}/v1"
    yield Completions
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_server_that_speaks_as_openai_does(completions: type[Completions]) -> None:
    events = await play(llm.llm, run_input("hi"), settings={"instructions": "Be brief."})
    assert text_of(events) == "Hello"
    assert len(of(events, "TEXT_MESSAGE_CONTENT")) == 2
    (body,) = completions.bodies
    assert body["model"] == "local-model"
    assert "Be brief." in str(body["messages"])
