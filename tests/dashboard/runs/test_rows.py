"""The rows of the runs list: the cells of every column, whatever texts they have."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.dashboard import histogram
from agui_host.dashboard.runs_list.columns import COLUMNS
from events.models import Journal
from runs.models import Run, Status, Thread
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse

HOSTILE = "<b>\"'&"
SAFE = "&lt;b&gt;&quot;&#x27;&amp;"
VALUES = {
    "status": Status.FAILED, "error_code": HOSTILE, "tool_calls": 3, "subagents": 0,
    "tokens_in": 12, "tokens_out": 5, "cost": 0.12345, "ttft_ms": 250, "asked": HOSTILE,
    "usage": '[{"inputTokens": 12, "outputTokens": 5}]',
}  # fmt: skip
BROKEN = {"status": Status.FAILED, "error_code": "timeout"}
CELLS = {
    "thread": f'<code title="{SAFE}">{SAFE}</code>',
    "title": f"<bdi>{SAFE}</bdi>",
    "tags": f'<span class="tag"><bdi>{SAFE}</bdi></span> ',
    "by": "<bdi>alice</bdi>",
    "error": SAFE,
    "findings": "",
    "events": "12,345",
    "bytes": "2.0\xa0KB",
    "tokens": "17",
    "waited": "2.0 s",
    "first": "250 ms",
    "tools": "3",
    "subagents": "0",
    "tokens_in": "12",
    "tokens_out": "5",
    "cost": "$0.1235",
    "span": ">3.0 s</time>",
}


def cells_of(page: str) -> dict[str, str]:
    cells = dict(
        re.findall(r'<td class="(?:num )?(\w+)" data-label="[^"]*">(.*?)</td>', page, re.S)
    )
    return {"title" if name == "topic" else name: cell for name, cell in cells.items()}


def test_each_column_shows_its_value(cast: Cast, browse: Browse) -> None:
    run, now = start(cast.alice, threadId=HOSTILE), timezone.now()
    times = {"created_at": now, "started_at": now + timedelta(seconds=2)}
    Run.objects.filter(pk=run.pk).update(**VALUES, **times, ended_at=now + timedelta(seconds=5))
    Thread.objects.filter(pk=run.thread_id).update(title=HOSTILE, tags=[HOSTILE])
    Journal.objects.filter(pk=run.pk).update(head=12_345, bytes=2048)
    page = browse(cast.alice).get(f"/runs/?columns={','.join(COLUMNS)}").content.decode()
    cells = cells_of(page)
    assert cells.pop("run") == f'<code title="{run.run_id}">{run.run_id}</code>'
    assert cells.pop("span").endswith(CELLS["span"])
    assert cells == {name: cell for name, cell in CELLS.items() if name != "span"}
    assert f'<bdi class="asked">{SAFE}</bdi>' in page
    assert HOSTILE not in page


def test_a_value_that_is_not_there_is_a_dash(cast: Cast, browse: Browse) -> None:
    start(cast.alice)
    page = browse(cast.alice).get(f"/runs/?columns={','.join(COLUMNS)}").content.decode()
    cells = cells_of(page)
    assert {name for name, cell in cells.items() if cell == "–"} == {
        "cost", "first", "span", "waited", "tools", "subagents", "tokens_in", "tokens_out",
    }  # fmt: skip
    assert {name for name, cell in cells.items() if not cell} == {
        "title", "tags", "error", "findings", "tokens",
    }  # fmt: skip


def test_no_row_asks_for_more(cast: Cast, browse: Browse) -> None:
    """The rows are read with what all columns show, whatever is added to a cell."""
    browser, address = browse(cast.alice), f"/runs/?columns={','.join(COLUMNS)}"

    def queries() -> int:
        with CaptureQueriesContext(connection) as log:
            browser.get(address)
        return len(log)

    start(cast.alice, threadId="0")
    queries()  # the first compiles
    one = queries()
    for number in range(1, 4):
        run = start(cast.alice, threadId=str(number))
        Run.objects.filter(pk=run.pk).update(**VALUES, ended_at=timezone.now())
    assert queries() == one


def test_the_sums_are_of_the_newest_runs(
    cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histogram, "MOST", 5)
    monkeypatch.setattr(histogram, "FEWEST", 5)
    now = timezone.now()
    for n in range(6):
        began = now - timedelta(seconds=n)
        values = {"started_at": began, "ended_at": now, **BROKEN} if n != 2 else {}
        run = start(cast.alice, threadId=str(n))
        Run.objects.filter(pk=run.pk).update(
            **values, tokens_in=10**n, cost=None if n == 4 else 0.5
        )
    page = browse(cast.alice).get("/runs/").content.decode()
    caption = re.sub("<.*?>", "", page.partition("<figcaption")[2].partition("</figcaption>")[0])
    assert "the newest 5 runs, 4 failed, 95 % took at most 4.0 s, 111,110 tokens, $2.00" in caption
