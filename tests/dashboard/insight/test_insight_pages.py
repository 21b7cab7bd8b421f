"""The pages of issues and tool calls: each number leads to the runs and calls that it counts."""

import csv
import io
import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agui_host.backends.postgres import clock
from runs.lifecycle.insight import storing
from runs.models import Issue, IssueNote, IssueRun, ToolCall
from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.runs.insight.conftest import call, ran
from tests.runs.insight.test_issues import failed, private

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = re.compile(r'href="(/runs/\?issue=[0-9a-f-]+)">(\d+)<')
ROW = re.compile(r'<tr id="run-([0-9a-f-]+)"')


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(unescape(address))
    assert answer.status_code == status
    return answer.content.decode()


def test_a_number_of_failures_leads_to_exactly_those_runs(cast: Cast, browse: Browse) -> None:
    for number in range(3):
        failed(cast.alice, f"Order {number} <b>was</b> not found", threadId=str(number))
    private(failed(cast.bob, "Order 8 <b>was</b> not found", threadId="mine"), cast.bob)
    failed(cast.bob, "No card", threadId="card")
    storing.run_once(20)
    for actor, counts in ((cast.alice, {"3", "1"}), (cast.bob, {"4", "1"})):
        client = browse(actor)
        text = page(client, "/issues/")
        assert "Order # &lt;b&gt;was&lt;/b&gt; not found" in text
        links = COUNT.findall(text)
        assert {number for _, number in links} == counts
        for address, number in links:
            listed = page(client, address)
            assert len(ROW.findall(listed)) == int(number)
            assert "Clear" in listed, "the list says that it is filtered"


def test_an_issue_is_resolved_and_comes_back(cast: Cast, browse: Browse) -> None:
    failed(cast.alice, "No card 1")
    storing.run_once(20)
    issue = Issue.objects.of_any_team().get()
    client, address = browse(cast.bob), f"/issues/{issue.pk}/"
    text = page(client, address)
    assert "No card 1" in text, "the whole error of a run"
    assert "Failures of 14 days" in text
    for values in (
        {"status": "resolved"}, {"assigned_to": "alice"}, {"note": "Look <i>here</i>"},
    ):  # fmt: skip
        assert client.post(f"{address}change", values).status_code == 302
    text = page(client, address)
    assert "Resolved by <bdi>bob</bdi>" in text
    assert "<option selected>alice</option>" in text
    assert "Look &lt;i&gt;here&lt;/i&gt;" in text
    assert str(issue.pk) not in page(client, "/issues/")
    assert str(issue.pk) in page(client, "/issues/?status=resolved")
    failed(cast.alice, "No card 2")
    storing.run_once(20)
    assert "came back" in page(client, "/issues/")
    assert "Came back" in page(client, address)
    assert client.post(f"{address}change", {"assigned_to": ""}).status_code == 302
    assert client.post(f"{address}change", {"note": "x" * 4001}).status_code == 422
    assert client.post(f"{address}change", {"assigned_to": "charlie"}).status_code == 422
    assert IssueNote.objects.of_any_team().count() == 1
    viewer = browse(cast.vera)
    assert '<form method="post" action="/issues/' not in page(viewer, address)
    assert viewer.post(f"{address}change", {"status": "open"}).status_code == 403
    stranger = browse(cast.charlie)
    page(stranger, address, 404)
    assert stranger.post(f"{address}change", {"status": "open"}).status_code == 404


def test_a_page_of_old_failures_draws_no_empty_bars(cast: Cast, browse: Browse) -> None:
    failed(cast.alice, "No card 1")
    storing.run_once(20)
    IssueRun.objects.of_any_team().update(at=clock.now() - timedelta(days=30))
    issue = Issue.objects.of_any_team().get()
    text = page(browse(cast.bob), f"/issues/{issue.pk}/")
    assert "No failures in the last 14 days" in text
    assert "<svg" not in text


def test_the_queries_do_not_grow_with_issues(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)

    def queries(issues: int) -> int:
        for number in range(Issue.objects.of_any_team().count(), issues):
            # Letters only: numbers in a message are of the same issue.
            word = "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}")
            failed(cast.alice, f"No {word} found", threadId=word)
        storing.run_once(60)
        assert Issue.objects.of_any_team().count() == issues
        with CaptureQueriesContext(connection) as log:
            text = page(client, "/issues/")
        assert len(COUNT.findall(text)) == min(issues, 50)
        return len(log)

    assert queries(1) == queries(100)


def test_tools_their_calls_and_those_made_twice(cast: Cast, browse: Browse) -> None:
    name = "pay & <go>"
    run = ran(cast.alice, call("a", name=name), call("b", name=name), call("c", "{}", "Error: no"))
    storing.run_once(20)
    client = browse(cast.vera)
    text = page(client, "/tool-calls/")
    assert "pay &amp; &lt;go&gt;" in text
    [address] = re.findall(r'href="(\?name=pay[^"]*doubles=all)">1<', text)
    second = ToolCall.objects.of_any_team().get(call="b")
    first = ToolCall.objects.of_any_team().get(call="a")
    for place in (f"/tool-calls/{unescape(address)}", "/tool-calls/?doubles=all"):
        text = page(client, place)
        assert f"/runs/{run.pk}/#seq={second.seq}" in text
        assert f"/runs/{run.pk}/#seq={first.seq}" in text
        assert "after a call that succeeded" in text
    assert "There are no such calls" in page(client, "/tool-calls/?doubles=error")
    text = page(client, "/tool-calls/?name=charge")
    assert "Error: no" in text
    assert str(run.pk) in text
    assert "There are no such calls" in page(browse(cast.charlie), "/tool-calls/?name=charge")
    for odd in ("?name=%00", "?days=x", "?name=charge&before=x", "?name=charge&before=9999-12-31",
                "?name=charge&before=2026-11-27_x"):  # fmt: skip
        page(client, f"/tool-calls/{odd}")


def lines(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert answer["content-type"] == "text/csv; charset=utf-8"
    assert answer["content-disposition"].endswith('.csv"')
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_tools_are_sorted_and_their_calls_are_failed_or_slowest(cast: Cast, browse: Browse) -> None:
    ran(cast.alice, call("a", "[1]"), call("b", "[2]"), call("c", name="@look", result="Error: no"))
    storing.run_once(20)
    rows = ToolCall.objects.of_any_team()
    for name, took in (("a", 5), ("b", 9_000), ("c", 60_000)):
        rows.filter(call=name).update(took_ms=took)
    client = browse(cast.vera)
    for query, first in (("", "charge"), ("sort=failed", "@look"), ("sort=p95", "@look"),
                         ("sort=p50", "@look"), ("sort=nonsense", "charge")):  # fmt: skip
        text = page(client, f"/tool-calls/?{query}")
        names = re.findall(r'<th scope="row"><a[^>]*><bdi>([^<]+)', text)
        assert (names[0], len(names)) == (first, 2), query
    assert 'aria-sort="descending"' in text
    slowest = page(client, "/tool-calls/?name=charge&sort=took")
    assert re.findall(r'data-label="Took">([^<]+)<', slowest) == ["9.0 s", "5 ms"]
    text = page(client, "/tool-calls/?sort=failed")
    [failing] = re.findall(r'href="(\?name=[^"]*status=error)"', text)
    text = page(client, f"/tool-calls/{failing}")
    assert re.findall(r'data-label="Took">([^<]+)<', text) == ["1 m 00 s"]
    file = lines(client, f"/tool-calls/{unescape(failing)}&format=csv")
    assert [(row["tool"], row["status"], row["took_ms"]) for row in file] == [
        ("'@look", "error", "60000")
    ]
    file = lines(client, "/tool-calls/?sort=failed&format=csv")
    assert [(row["tool"], row["calls"], row["failed"]) for row in file] == [
        ("'@look", "1", "1"), ("charge", "2", "0"),
    ]  # fmt: skip


def test_a_file_names_doubles_only_to_readers_of_the_thread(cast: Cast, browse: Browse) -> None:
    run = ran(cast.bob, call("a"), call("b"), threadId="mine")
    storing.run_once(20)
    client = browse(cast.bob)
    assert [row["made_twice"] for row in lines(client, "/tool-calls/?name=charge&format=csv")] == [
        "ok", "",
    ]  # fmt: skip
    private(run, cast.bob)
    assert lines(browse(cast.alice), "/tool-calls/?name=charge&format=csv") == []
    assert len(lines(client, "/tool-calls/?doubles=all&format=csv")) == 1


def test_issues_are_a_file_without_formulas(cast: Cast, browse: Browse) -> None:
    for number in range(2):
        failed(cast.alice, f"=cmd() {number}")
    private(failed(cast.bob, "=cmd() 8", threadId="mine"), cast.bob)
    storing.run_once(20)
    [row] = lines(browse(cast.alice), "/issues/?format=csv")
    assert (row["message"], row["runs"], row["status"]) == ("'=cmd() #", "2", "open")
    assert lines(browse(cast.alice), "/issues/?status=resolved&format=csv") == []
    assert lines(browse(cast.charlie), "/issues/?format=csv") == []


def test_older_calls_are_one_click_away(cast: Cast, browse: Browse) -> None:
    ran(cast.alice, *(call(str(n), f'{{"n": {n}}}') for n in range(60)))
    storing.run_once(20)
    calls = ToolCall.objects.of_any_team()
    calls.update(at=calls[0].at)  # of an agent that gives no times: that of the run's end
    client = browse(cast.vera)
    text = page(client, "/tool-calls/?name=charge")
    [older] = re.findall(r'href="(\?name=charge&amp;before=[^"]*)"', text)
    both = [*re.findall(r"#seq=(\d+)", text)]
    both += re.findall(r"#seq=(\d+)", page(client, f"/tool-calls/{older}"))
    assert len(both) == len(set(both)) == 60
