"""When OpenTelemetry's traces are on, and that they cost nothing while they are off."""

import subprocess
import sys

import pytest
from structlog.testing import capture_logs

from agui_host.backends import tracing
from tests.runs.worker.tracing.collector import collecting

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({ENDPOINT: "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({ENDPOINT: "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_decide(
    variables: dict[str, str], on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tracing.is_requested() is on


def test_nothing_is_imported_or_carried_while_they_are_off() -> None:
    code = """
import sys
from agui_host.backends import tracing
tracing.begin("worker", "1")
with tracing.span("start run") as span:
    assert span is None and tracing.traceparent() is None and tracing.tracer() is None
tracing.close()
assert not any(name.startswith("opentelemetry") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_another_protocol_is_logged_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://collector:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with capture_logs() as logs:
        tracing.begin("web", "1")
    assert [line["event"] for line in logs] == ["traces.not_exported"]
    assert tracing.tracer() is None


def fail() -> None:
    with tracing.span("start run") as span:
        assert span is not None
        assert f"{span.get_span_context().span_id:016x}" in str(tracing.traceparent())
        raise ValueError("sesame")


def test_a_span_is_passed_on_and_an_error_has_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.address)
        tracing.begin("web", "1")
        try:
            with pytest.raises(ValueError, match="sesame"):
                fail()
        finally:
            tracing.close()
    (row,) = collector.spans
    assert row.failed
    assert row.attributes["error.type"] == "ValueError"
    assert b"sesame" not in collector.bodies[0]
    assert row.resource["service.version"] == "1"
