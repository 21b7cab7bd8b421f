"""OpenTelemetry's traces: off unless the standard ``OTEL_*`` variables name a collector.

Nothing of OpenTelemetry is imported while they are off. Spans carry names, ids and counts; never
what people or agents said, and no secrets.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

log = structlog.get_logger(__name__)
NAME = "agui-run-host"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
DISABLED, EXPORTERS = ("OTEL_SDK_DISABLED",), ("OTEL_TRACES_EXPORTER",)
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
CLOSING_SECONDS = 2.0
LONGEST = 200
"""Characters of an attribute: names come from clients and agents."""

_provider: "TracerProvider | None" = None
_tracer: "Tracer | None" = None


def is_requested() -> bool:
    """Whether the environment asks for traces."""
    if _first(DISABLED).lower() == "true":
        return False
    if exporters := _first(EXPORTERS):
        return "otlp" in (name.strip() for name in exporters.split(","))
    return _first(ENDPOINTS) != ""


def begin(process: str, version: str) -> None:
    """Export the spans of this process from now on, if the environment asks for it.

    Errors in those settings are logged and cost only the traces.
    """
    global _provider, _tracer
    if not is_requested():
        return
    if (protocol := _first(PROTOCOLS)) not in ("", "http/protobuf"):
        log.warning("traces.not_exported", reason=f"{protocol} is not spoken, only http/protobuf")
        return
    try:
        _provider = _exporting(process, version)
    except Exception as error:
        # An operator can set OTEL_* for every container; that must not stop this one.
        log.warning("traces.not_exported", reason=f"{type(error).__name__}: {error}")
        return
    _tracer = _provider.get_tracer(NAME, version)
    log.info("traces.exported", to=_first(ENDPOINTS) or "http://localhost:4318")


def close() -> None:
    """Send the rest; a collector that does not answer is not waited for long."""
    global _provider, _tracer
    provider, _provider, _tracer = _provider, None, None
    if provider is not None:
        thread = threading.Thread(target=provider.shutdown, daemon=True)
        thread.start()
        thread.join(CLOSING_SECONDS)


def tracer() -> "Tracer | None":
    """What makes spans; None while traces are off."""
    return _tracer


@contextmanager
def span(name: str, **attributes: str) -> Iterator["Span | None"]:
    """A producer's span around a block, which errors end as failed; None while traces are off."""
    if _tracer is None:
        yield None
        return
    from opentelemetry.trace import SpanKind, Status, StatusCode

    with _tracer.start_as_current_span(
        name,
        kind=SpanKind.PRODUCER,
        attributes=attributes,
        # Messages of exceptions can quote a client's input.
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR))
            raise


def traceparent() -> str | None:
    """The current span, as W3C's header names it; None while traces are off."""
    if _tracer is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def context_of(traceparent: str | None, tracestate: str | None = None) -> "Context":
    """The context that a header names; without one or with a bad one, that of a new trace."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {"traceparent": traceparent, "tracestate": tracestate}
    headers = {name: value for name, value in carrier.items() if value}
    return TraceContextTextMapPropagator().extract(headers, Context())


def short(value: Any) -> str:
    """A name for an attribute, which can come from a client or an agent."""
    return str(value)[:LONGEST]


def _exporting(process: str, version: str) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    ours = Resource.create({"service.version": version, "agui.process": process})
    operators = OTELResourceDetector().detect()
    if SERVICE_NAME not in operators.attributes:
        ours = ours.merge(Resource({SERVICE_NAME: NAME}))
    # ``close`` sends the rest: the SDK's own hook can hold up a process that wants to end.
    provider = TracerProvider(resource=ours.merge(operators), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _first(names: tuple[str, ...]) -> str:
    values = (os.environ.get(name, "").strip() for name in names)
    return next((value for value in values if value), "")
