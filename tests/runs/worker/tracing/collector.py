"""A collector of OpenTelemetry's traces on loopback: OTLP over HTTP, in protobuf."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class SpanRow:
    """A span as a collector gets it."""

    name: str
    id: bytes
    parent: bytes
    trace: bytes
    kind: int
    start: int
    end: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """The spans and the raw bodies that came so far."""

    def __init__(self) -> None:
        self.spans: list[SpanRow] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        self.bodies.append(body)
        self.headers.append(headers)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = values(group.resource.attributes)
            for scope in group.scope_spans:
                self.spans += [parsed(span, resource) for span in scope.spans]

    def of_run(self, run_id: str) -> SpanRow | None:
        """The span of the agent's work in this run, which ends after all below it."""
        named = (span for span in self.spans if span.name.startswith("invoke_agent"))
        return next((s for s in named if s.attributes["agui.run.id"] == run_id), None)

    def below(self, parent: SpanRow) -> list[SpanRow]:
        children = (span for span in self.spans if span.parent == parent.id)
        return sorted(children, key=lambda span: span.start)

    def above(self, child: SpanRow) -> SpanRow:
        return next(span for span in self.spans if span.id == child.parent)


def values(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def parsed(span: Any, resource: dict[str, Any]) -> SpanRow:
    return SpanRow(
        span.name, span.span_id, span.parent_span_id, span.trace_id, span.kind,
        span.start_time_unix_nano, span.end_time_unix_nano,
        span.status.code == span.status.STATUS_CODE_ERROR, values(span.attributes), resource,
    )  # fmt: skip


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces", self.path
            collector.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
