"""No message to a run is lost or read twice: not by killed workers, nor at a run's last moment.

``tests/soak/recovery/test_steering.py`` sends a hundred thousand.
"""

from collections.abc import Iterator

import pytest

from tests.acceptance.recovery.rounds import Pair
from tests.acceptance.recovery.steering.flood import Sender, attentive_hosts, flood, listed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def workers() -> Iterator[Pair]:
    with attentive_hosts() as both:
        yield both


def test_workers_are_killed(workers: Pair) -> None:
    assert flood(workers, 1, runs=3, each=100, kills=3), "the faults have fired"


def test_runs_end_while_people_write(workers: Pair) -> None:
    """Each message that was taken is read, or in the input of the thread's next run."""
    workers.revive()
    host = workers.host
    threads = [f"race {number}" for number in range(8)]
    senders = [
        Sender(host, host.begin("hasty", threadId=thread)["id"], 10_000, until_refused=True)
        for thread in threads
    ]
    for sender in senders:
        sender.join(60)
        assert sender.refused, "it has ended"
    carried = count = 0
    for thread, sender in zip(threads, senders, strict=True):
        run = sender.wanted_run
        host.wait_status(run, "succeeded")
        words = [{"id": "next", "role": "user", "content": "And now?"}]
        following = host.begin("hasty", threadId=thread, messages=words)["id"]
        host.wait_status(following, "succeeded")
        read = [
            frame["event"]["messageId"]
            for frame in host.events(run)
            if frame["event"]["type"] == "TEXT_MESSAGE_START"
        ]
        brought = [m["id"] for m in host.events(following)[0]["event"]["input"]["messages"]]
        assert read + brought == [*sender.numbers, "next"], "each once, in order"
        rows = listed(host, run)
        assert [row["id"] for row in rows] == list(sender.numbers), "a refused one is not kept"
        for row in rows:
            assert (row["seen_seq"] is None) == (row["carried_by"] == following)
        carried += len(brought) - 1
        count += len(sender.numbers)
    print(f"{count} messages, {carried} carried on")
    assert count > carried > 0
