"""Web processes whose clocks differ or are set back: every turn of a conversation is there."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agui_host.embedded import supervisor
from tests.acceptance.host import Host, free_port, wait_for
from tests.conftest import own_host
from tests.needs import need

ASKS = [{"interrupt": {"reason": "confirm"}}]
EVERY_DIFFERENCE = [sign * seconds for seconds in (0.5, 2, 60, 300) for sign in (1, -1)]
PROTOCOL = [Subprotocol("agui.host.v1")]
IN_CI = (2, -60, 300)
CASES = [pytest.param(each, 24, id=f"{each:+}s") for each in IN_CI] + [
    pytest.param(each, 100, id=f"{each:+}s-long", marks=pytest.mark.soak)
    for each in EVERY_DIFFERENCE
]


class OtherWeb:
    """A web process of a host with a wall clock of its own, which the test sets."""

    def __init__(self, host: Host) -> None:
        self.host, self.port = host, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.job = supervisor.web(self.port)
        self.job.name = "other-web"
        self._clock = host.data / "other-clock"

    def set(self, seconds: float) -> None:
        """Set its clock to be so many seconds ahead."""
        fresh = self._clock.with_suffix(".new")
        fresh.write_text(f"{seconds:+}s\n")
        fresh.rename(self._clock)

    def start(self, seconds: float) -> None:
        self.set(seconds)
        self.host.spawn(
            self.job,
            LD_PRELOAD=str(need("libfaketime")),
            FAKETIME_TIMESTAMP_FILE=str(self._clock),
            FAKETIME_NO_CACHE="1",
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            DONT_FAKE_MONOTONIC="1",
        )
        wait_for(lambda: self.ready().get("status") == "ready", "the other web process")

    def ready(self) -> dict[str, Any]:
        try:
            return dict(httpx.get(f"{self.url}/ready", timeout=5).json())
        except (httpx.HTTPError, ValueError):
            return {}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """One for all: each test has a thread and another web process of its own."""
    with own_host(AGUI_LIMIT_RUNS_PER_MINUTE="1000") as host:
        yield host


@pytest.fixture
def other(host: Host) -> Iterator[OtherWeb]:
    need("libfaketime")
    web = OtherWeb(host)
    yield web
    web.job.stop()


@pytest.fixture
def thread() -> str:
    return str(uuid4())


def turn(host: Host, url: str, thread: str, number: int) -> str:
    """A turn of the conversation, to its end; the id of its run."""
    message = {"id": f"u{number}", "role": "user", "content": f"question {number}"}
    body = {
        "agent": "scripted",
        "input": {
            "threadId": thread,
            "messages": [message],
            "forwardedProps": {"script": [{"text": f"answer {number}", "n": 1}]},
        },
    }
    answer = httpx.post(f"{url}/api/v1/runs?wait=30", json=body, headers=host.headers, timeout=60)
    assert answer.status_code in (200, 202), answer.text
    run = answer.json()
    if run["status"] != "succeeded":
        host.wait_status(run["id"], "succeeded")
    return str(run["id"])


def questions(url: str, host: Host, thread: str) -> list[str]:
    """What the person has said in the thread, as a page that is opened now shows it."""
    answer = httpx.get(f"{url}/agui/threads/{thread}/messages", headers=host.headers, timeout=60)
    return [row["content"] for row in answer.json()["messages"] if row["role"] == "user"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("seconds", "number_of_turns"), CASES)
def test_two_clocks(other: OtherWeb, thread: str, seconds: float, number_of_turns: int) -> None:
    host = other.host
    other.start(seconds)
    webs = [host.url, other.url]
    runs = [turn(host, webs[number % 2], thread, number) for number in range(number_of_turns)]
    expected = [f"question {number}" for number in range(number_of_turns)]
    assert [questions(url, host, thread) for url in webs] == [expected, expected]
    with host.client() as client:
        rows = client.get(
            "/api/v1/runs", params={"thread_id": thread, "limit": number_of_turns}
        ).json()
    assert [row["id"] for row in rows["results"]] == runs[::-1]


@pytest.mark.timeout(300)
def test_an_answer_through_a_slow_clock(other: OtherWeb, thread: str) -> None:
    host = other.host
    other.start(-300)
    turn(host, host.url, thread, 1)
    asking = host.begin(script=ASKS, threadId=thread)
    host.wait_status(asking["id"], "interrupted")
    with host.client() as client:
        (question,) = client.get(
            "/api/v1/interrupts", params={"run": asking["id"], "status": "open"}
        ).json()["results"]
    answered = httpx.post(
        f"{other.url}/api/v1/interrupts/{question['id']}/answer",
        json={"status": "resolved", "payload": {}},
        headers=host.headers,
    )
    assert answered.status_code == 200, answered.text
    host.wait_status(answered.json()["run"]["id"], "succeeded", "interrupted")


@pytest.mark.timeout(300)
def test_a_clock_that_is_set_back(other: OtherWeb, thread: str) -> None:
    host = other.host
    other.start(0)
    assert "clock" not in other.ready()
    turn(host, other.url, thread, 0)
    other.set(-60)
    for number in range(1, 6):
        turn(host, other.url, thread, number)
    assert questions(other.url, host, thread) == [f"question {number}" for number in range(6)]
    assert other.ready()["clock"] == pytest.approx(-60, abs=1)
    assert "clock" not in host.ready()
    wait_for(lambda: "clock.differs" in host.log_of(other.job), "a line in the log")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seconds", [300, -300], ids=["ahead", "behind"])
def test_a_thread_that_is_watched_through_it(other: OtherWeb, thread: str, seconds: float) -> None:
    """A subscription gets the runs that other processes start, also that of another clock."""
    host = other.host
    other.start(seconds)
    turn(host, host.url, thread, 0)
    url = other.url.replace("http", "ws") + "/ws/"
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "thread.subscribe",
        "params": {"thread_id": thread},
    }
    with connect(url, additional_headers=host.headers, subprotocols=PROTOCOL) as socket:
        socket.send(json.dumps(call))
        assert "result" in json.loads(socket.recv(30))
        turn(host, host.url, thread, 1)
        turn(host, other.url, thread, 2)
        text = ""
        while not ("answer 1" in text and "answer 2" in text):
            text += str(socket.recv(60))
    assert text.index("answer 1") < text.index("answer 2")


@pytest.mark.timeout(300)
def test_a_key_ends_by_the_databases_clock(other: OtherWeb, thread: str) -> None:
    """And so are the runs of the last minute counted."""
    host = other.host
    other.start(300)
    ends = (datetime.now(UTC) + timedelta(seconds=120)).isoformat()
    with host.client() as client:
        made = client.post("/api/v1/keys", json={"name": "a", "expires_at": ends})
        assert made.status_code == 201, made.text
    key = {"Authorization": f"Bearer {made.json()['key']}"}
    assert httpx.get(f"{other.url}/api/v1/runs", headers=key).status_code == 200
    turn(host, other.url, thread, 0)
    for url in (host.url, other.url):
        rows = httpx.get(f"{url}/api/v1/limits", headers=host.headers).json()["limits"]
        assert {row["name"]: row["used"] for row in rows}["runs_per_minute"] >= 1, "not by its own"
