"""The outline of a run as a trace for Perfetto."""

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views.alone import Alone
from agui_host.protocol.views.chrome_trace import ChromeTrace
from agui_host.web.consumers.export.rows import outline
from runs.models import Run


async def trace(
    run: Run, alone: Alone | None, effects: Iterable[dict[str, Any]] = ()
) -> AsyncIterator[bytes]:
    """The trace, a piece for each page of the outline; effects are on tracks for themselves."""
    view = ChromeTrace()
    yield b'{"displayTimeUnit":"ms","traceEvents":[' + _joined(view.opening(run.run_id))
    async for rows in outline(run, alone):
        yield b"," + _joined(view.events([json.loads(row) for row in rows]))
    if own := list(view.events({**row, "lane": ["effects"]} for row in effects)):
        yield b"," + _joined(own)
    yield b"]}"


def _joined(events: Iterable[dict[str, Any]]) -> bytes:
    return dumps(list(events))[1:-1].encode()
