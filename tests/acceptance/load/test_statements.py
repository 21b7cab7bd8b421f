"""How many statements and commits each hot path costs: a bound that is only ever lowered."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance import statements
from tests.acceptance.host import Host
from tests.acceptance.statements import Statements

ONE_DELTA = {"script": [{"text": "x", "n": 1}]}


@pytest.fixture(scope="module")
def host_statements(host: Host) -> Iterator[Statements]:
    with statements.recorded(host) as recording:
        run_once(host, "warm")
        yield recording


def run_once(host: Host, thread: str, run: str = "r") -> str:
    """Start a run of one delta as a stock client does, and read its stream to the end."""
    body = {
        "threadId": thread, "runId": run, "tools": [], "context": [],
        "messages": [{"id": run, "role": "user", "content": "?"}] if run != "r" else [],
        "state": {}, "forwardedProps": ONE_DELTA,
    }  # fmt: skip
    with host.client() as client:
        answer = client.post("/agui/agent/scripted/run", json=body)
    assert "RUN_FINISHED" in answer.text, answer.text
    location: str = answer.headers["content-location"]
    return location


def get(host: Host, path: str, **headers: str) -> httpx.Response:
    with host.client() as client:
        answer = client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def test_a_whole_run_on_a_fresh_thread(host: Host, host_statements: Statements) -> None:
    """From the POST to the commit of its terminal event: start, append and end, no take."""
    # Where the machine is busy the end can come after the commit of the delta: several tries.
    everything = host_statements.of(lambda number: run_once(host, f"whole-{number}"), tries=8)
    run = everything.until_the_end()
    print(f"{run.statements} statements, {run.commits} commits\n{everything}")
    # A key is looked up once a second. The start is handed over, with the claim.
    start = run.by("web")
    end = everything.by("agui-writer", "agui-after-commit")
    assert 0 < start.statements <= 2
    assert run.by("worker").statements <= 1, "it looks by itself, twice a second"
    assert 0 < end.statements <= 2
    assert run.statements <= 4
    assert run.commits <= 3


def test_a_turn_of_a_thread(host: Host, host_statements: Statements) -> None:
    """Handed over, with the thread's history: the start, the fold, and append with end."""

    def second(number: int) -> str:
        return run_once(host, f"turn-{number}", "r2")

    for number in range(8):
        run_once(host, f"turn-{number}")
    everything = host_statements.of(second, tries=8)
    turn = everything.until_the_end()
    print(f"{turn.statements} statements, {turn.commits} commits\n{everything}")
    assert 0 < turn.by("web").statements <= 11
    assert 0 < turn.by("worker").statements <= 7
    # The first message finds that the thread exists, and writes nothing.
    assert turn.commits <= 4


def test_a_reader_of_an_ended_run(host: Host, host_statements: Statements) -> None:
    events = run_once(host, "read")
    page = host_statements.of(lambda _: get(host, events))
    join = host_statements.of(lambda _: get(host, f"{events}?after=0", accept="text/event-stream"))
    listed = host_statements.of(lambda _: get(host, "/api/v1/runs?limit=20"))
    one = host_statements.of(lambda _: get(host, events.removesuffix("/events")))
    page, join, listed, one = (each.by("web") for each in (page, join, listed, one))
    for name, each in (("page", page), ("join", join), ("list", listed), ("one", one)):
        print(f"{name}: {each.statements} statements\n{each}")
    assert 0 < page.statements <= 3
    assert 0 < join.statements <= 4
    assert 0 < listed.statements <= 2
    assert 0 < one.statements <= 2
    assert page.commits == join.commits == listed.commits == one.commits == 0


def test_a_message_to_a_run(host: Host, host_statements: Statements) -> None:
    """The run with the rights, and one function; its agent does not look at its inbox."""
    run = host.begin(script=[{"sleep": 60}])["id"]

    def say(number: int) -> None:
        body = {"id": f"m{number}", "role": "user", "content": "Only the last three years."}
        with host.client() as client:
            answer = client.post(f"/api/v1/runs/{run}/messages", json=body)
        assert answer.status_code == 202, answer.text

    message = host_statements.of(say).by("web")
    print(f"{message.statements} statements, {message.commits} commits\n{message}")
    assert 0 < message.statements <= 3  # A key is looked up once a second.
    assert message.commits == 1
    with host.client() as client:
        assert client.post(f"/api/v1/runs/{run}/cancel").status_code == 202


def test_a_front_end_that_comes_back(host: Host, host_statements: Statements) -> None:
    """Hydration: the thread as snapshots, then the end of its newest run."""
    run_once(host, "hydrate")
    body = {"threadId": "hydrate", "runId": "c", "messages": [], "tools": [], "context": []}

    def connect(_: int) -> None:
        with host.client() as client:
            answer = client.post("/agui/agent/scripted/connect", json=body)
        assert "MESSAGES_SNAPSHOT" in answer.text, answer.text

    hydration = host_statements.of(connect).by("web")
    print(f"{hydration.statements} statements\n{hydration}")
    assert 0 < hydration.statements <= 8
