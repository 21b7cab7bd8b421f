"""Log lines: as text or JSON, and not too many of them."""

import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from agui_host import logs


@pytest.fixture
def configured() -> Iterator[Any]:
    yield logs.config
    logging.config.dictConfig(settings.LOGGING)


def formatted(as_json: bool) -> str:
    line = logs.config(level="INFO", json=as_json)["formatters"]["line"]
    formatter = line.pop("()")(**line)
    record = logging.LogRecord("runs", logging.INFO, __file__, 1, "hello %s", ("you",), None)
    return str(formatter.format(record))


def test_a_record_is_one_line_as_text_or_as_json(configured: Any) -> None:
    values = json.loads(formatted(as_json=True))
    assert values["event"] == "hello you"
    assert (values["logger"], values["level"]) == ("runs", "info")
    assert values["timestamp"].endswith("Z")
    text = formatted(as_json=False)
    assert "hello you" in text
    assert "\x1b" not in text, "no colours in a file"


def test_djangos_lines_about_503_are_dropped() -> None:
    record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, "x", (), None)
    assert logs.Outages().filter(record)
    for status, passes in ((500, True), (503, False)):
        record.status_code = status
        assert logs.Outages().filter(record) is passes


def test_a_flood_is_one_line_a_second_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [1000.0], []
    monkeypatch.setattr(logs, "_seldom", {})
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])

    def write(event: str, **values: Any) -> None:
        lines.append((event, values))

    for kind in ("a", "a", "b", "a"):
        logs.sparingly(write, "lost", kind=kind)
    assert lines == [("lost", {"kind": "a"}), ("lost", {"kind": "b"})]
    now[0] += 1
    logs.sparingly(write, "lost", kind="a")
    assert lines[-1] == ("lost", {"kind": "a", "left_out": 2})
    now[0] += 1
    logs.sparingly(write, "lost", kind="a")
    assert lines[-1] == ("lost", {"kind": "a"})
