"""Logging: structlog over the standard library, one line per record, as text or JSON."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def config(*, level: str, json: bool) -> dict[str, Any]:
    """A ``LOGGING`` dictionary; also routes structlog's own loggers through it."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    render: Any = (
        structlog.processors.JSONRenderer()
        if json
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=_plain)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *([structlog.processors.format_exc_info] if json else []),
                    render,
                ],
            }
        },
        "filters": {"outages": {"()": Outages}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "procrastinate": {"level": "WARNING"},
            "django.request": {"level": "ERROR", "filters": ["outages"]},
            "httpx": {"level": "WARNING"},
            "_granian": {"level": "WARNING"},
        },
    }


class Outages(logging.Filter):
    """Drops Django's lines about 503: ``answers.log_failure`` reports them, once a second."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record that is not about an answer of 503."""
        return getattr(record, "status_code", None) != 503


_seldom: dict[tuple[str, Any], tuple[float, int]] = {}
_counting = threading.Lock()


def sparingly(write: Callable[..., Any], event: str, **values: Any) -> None:
    """Log an event at most once a second for each ``kind`` in ``values``.

    ``left_out`` of the next line is how many were not written.
    """
    key, now = (event, values.get("kind")), time.monotonic()
    with _counting:
        since, left_out = _seldom.get(key, (now - 1, 0))
        if now - since < 1:
            _seldom[key] = since, left_out + 1
            return
        _seldom[key] = now, 0
    write(event, **values, **({"left_out": left_out} if left_out else {}))


def _plain(sio: Any, exc_info: Any) -> None:
    structlog.dev.plain_traceback(sio, exc_info)
