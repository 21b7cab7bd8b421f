"""One run of a real host, as a collector of OpenTelemetry's traces sees it."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from agui_host.protocol.encoding import Record
from runs.worker import traces
from tests.acceptance.host import Host, wait_for
from tests.conftest import own_host
from tests.runs.worker.tracing.collector import Collector, SpanRow, collecting

SECRET = "what nobody but the thread's readers may see"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVER, PRODUCER, CONSUMER = 2, 4, 5


def emit(type: str, **fields: Any) -> dict[str, Any]:
    return {"emit": {"type": type, **fields}}


WORK = [
    emit("STEP_STARTED", stepName="search"),
    emit("TOOL_CALL_START", toolCallId="c1", toolCallName="lookup"),
    emit("TOOL_CALL_ARGS", toolCallId="c1", delta=f'{{"q": "{SECRET}"}}'),
    emit("TOOL_CALL_END", toolCallId="c1"),
    emit("TOOL_CALL_RESULT", messageId="m1", toolCallId="c1", content=SECRET),
    emit("STEP_FINISHED", stepName="search"),
    {"text": SECRET},
    emit("TOOL_CALL_START", toolCallId="c2", toolCallName="ask_client"),
    emit("TOOL_CALL_END", toolCallId="c2"),
    {"usage": {"model": "small", "provider": "acme", "input_tokens": 7, "output_tokens": 3}},
]


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def traced_host(collector: Collector) -> Iterator[Host]:
    settings = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-collector-key=sesame",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=tests",
    }
    with own_host(**settings) as host:
        yield host


def finished(collector: Collector, run_id: str) -> SpanRow:
    wait_for(lambda: collector.of_run(run_id), "the spans of the run")
    span = collector.of_run(run_id)
    assert span is not None
    wait_for(lambda: any(each.id == span.parent for each in collector.spans), "the span of its job")
    return span


def play(host: Host, script: list[dict[str, Any]], thread: str) -> str:
    body = {
        "threadId": thread, "runId": "r", "tools": [], "context": [], "state": {},
        "messages": [{"id": "1", "role": "user", "content": SECRET}],
        "forwardedProps": {"script": script},
    }  # fmt: skip
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    with host.client() as client:
        answer = client.post("/agui/agent/scripted/run", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.headers["content-location"].split("/")[-2])


def test_a_run_is_one_tree_from_the_request_to_its_tool_calls(
    traced_host: Host, collector: Collector
) -> None:
    run_id = play(traced_host, WORK, "tree")
    run = finished(collector, run_id)
    job = collector.above(run)
    wait_for(lambda: any(span.id == job.parent for span in collector.spans), "the start")
    start = collector.above(job)
    wait_for(lambda: any(span.id == start.parent for span in collector.spans), "the request")
    request = collector.above(start)
    assert (request.trace.hex(), request.parent.hex()) == (TRACE, SPAN)
    assert {span.trace for span in (start, job, run)} == {request.trace}
    assert [span.kind for span in (request, start, job)] == [SERVER, PRODUCER, CONSUMER]
    assert request.name == "POST /agui/agent/<slug>/run"
    assert request.attributes["http.response.status_code"] == 200
    assert (start.name, job.name) == ("start run", "process runs")
    assert run.name == "invoke_agent scripted"
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.conversation.id"] == "tree"
    assert run.attributes["agui.run.status"] == "succeeded"
    assert run.attributes["gen_ai.usage.input_tokens"] == 7
    assert run.attributes["gen_ai.response.model"] == "small"
    step, client_call = collector.below(run)
    (call,) = collector.below(step)
    assert (step.name, client_call.name) == ("step search", "execute_tool ask_client")
    assert call.name == "execute_tool lookup"
    assert call.attributes["gen_ai.tool.call.id"] == "c1"
    for inner, outer in ((run, job), (step, run), (call, step), (client_call, run)):
        assert outer.start <= inner.start <= inner.end <= outer.end, (inner.name, outer.name)
    assert request.resource["agui.process"] == "web"
    assert run.resource["agui.process"] == "worker"
    assert run.resource["service.name"] == "agui-run-host"
    assert run.resource["deployment.environment.name"] == "tests"


def test_nothing_that_people_or_agents_said_and_no_key_is_exported(
    traced_host: Host, collector: Collector
) -> None:
    finished(collector, play(traced_host, [*WORK, {"raise": SECRET}], "silent"))
    everything = b"".join(collector.bodies)
    assert SECRET.encode() not in everything
    assert traced_host.key.encode() not in everything
    assert b"sesame" not in everything
    assert collector.headers[-1]["x-collector-key"] == "sesame"


def test_a_failed_run_is_an_error_without_its_message(
    traced_host: Host, collector: Collector
) -> None:
    run = finished(collector, play(traced_host, [{"raise": SECRET}], "failed"))
    assert run.failed
    assert run.attributes["agui.run.status"] == "failed"
    assert run.attributes["error.type"] == "agent_error"


def test_an_address_with_a_secret_is_named_by_its_pattern(
    traced_host: Host, collector: Collector
) -> None:
    with traced_host.client() as client:
        client.get(f"/shared/sesame-{SECRET.replace(' ', '-')}/runs/{uuid4()}/events")
        client.get("/no/such/page")
    for name in ("GET /shared/<token>/runs/<run_id>/events", "GET"):
        wait_for(lambda name=name: name in {span.name for span in collector.spans}, name)
    assert not any("sesame" in str(span) for span in collector.spans)


def test_a_run_with_endless_steps_has_a_bounded_number_of_spans(
    traced_host: Host, collector: Collector
) -> None:
    step = [emit("STEP_STARTED", stepName="s"), emit("STEP_FINISHED", stepName="s")]
    run = finished(collector, play(traced_host, step * (traces.MOST + 5), "endless"))
    assert len(collector.below(run)) <= traces.MOST
    assert run.attributes["agui.spans_left_out"] == 5


def test_without_a_collector_a_run_has_no_trace() -> None:
    """The executor then notes records exactly as before."""
    run: Any = object()  # not even looked at
    assert traces.of(run, None) is None
    assert Record("STEP_STARTED", b"{}", 0.0).type in traces.HANDLERS
