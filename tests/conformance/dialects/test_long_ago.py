"""A run of a month ago, whose events lie in the partition of that month, read by stock clients."""

import json

import durable_streams
import openai
from a2a.types.a2a_pb2 import GetTaskRequest

from tests.acceptance.host import Host
from tests.conformance.dialects import test_a2a, test_mcp
from tests.conformance.node import ready_packages, run_node

THREAD = "a-month-ago"
RUN = """
from datetime import timedelta
import time
from django.utils import timezone
from agui_host.protocol.input import run_agent_input
from runs.lifecycle import lifecycle
from runs.models import Run
from agui_host.runtimes.models import Agent
from tests.runs.past import made_in
agents = Agent.objects.unscoped("a test").select_related("team")
agent = agents.get(team__slug="demo", slug="scripted")
body = {"threadId": "%s", "messages": [{"id": "u", "role": "user", "content": "Hello."}]}
body["forwardedProps"] = {"script": [{"text": "word", "n": 20}]}
then = timezone.now() - timedelta(days=31)
with made_in(then.date().replace(day=1)):
    run = lifecycle.start(
        agent.team, agent, run_agent_input.parse(body), started_by="user:demo").run
rows = Run.objects.unscoped("a test").filter(pk=run.pk)
while not rows.filter(ended_at__isnull=False).exists():
    time.sleep(0.05)
rows.update(created_at=then, started_at=then, ended_at=then)
print(run.pk)
"""


async def test_a_run_of_a_month_ago(packages: None, host: Host) -> None:
    run = host.run(host.python(RUN % THREAD).split()[-1])
    log = [row["event"] for row in host.events(run["id"])]
    text = "".join(each["delta"] for each in log if each["type"] == "TEXT_MESSAGE_CONTENT")
    assert (run["status"], text.count("word")) == ("succeeded", 20)
    task = {"url": host.url, "key": host.key, "thread": THREAD, "id": run["id"]}
    task |= {"runId": run["run_id"], "streamUrl": run["stream_url"]}
    arguments = ["--experimental-websocket", str(ready_packages() / "long-ago.mjs")]
    done = run_node(arguments, json.dumps(task))
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == 13
    assert answers == dict.fromkeys(answers, text)
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key=host.key) as client:
        assert client.responses.retrieve(f"resp_{run['id']}").output_text == text
    address = host.url + run["stream_url"]
    with durable_streams.stream(address, live=False, headers=host.headers) as page:
        assert page.read_json() == log
    async with test_a2a.client(host, "/a2a/scripted") as agent:
        assert test_a2a.text(await agent.get_task(GetTaskRequest(id=run["id"]))) == text
    async with test_mcp.client(host) as mcp:
        (contents,) = (await mcp.read_resource(f"agui://runs/{run['id']}")).contents
        assert contents.text == text
