"""Credit: how many more events a subscriber takes."""

from uuid import uuid4

import pytest

from agui_host.protocol.errors import Invalid
from agui_host.web.host_socket.credit import FeedCredit, RunCredit

ONE, TWO = uuid4(), uuid4()


def test_what_is_sent_counts_until_it_is_acknowledged() -> None:
    credit = RunCredit(10)
    credit.begin(ONE, after=5)
    credit.spend(ONE, 4)
    assert (credit.outstanding, credit.left) == (4, 6)
    credit.acknowledge(ONE, 7)
    assert credit.outstanding == 2
    credit.acknowledge(ONE, 6)
    assert credit.outstanding == 2, "an older one changes nothing"


def test_an_event_that_was_not_sent_cannot_be_acknowledged() -> None:
    credit = RunCredit(10)
    credit.begin(ONE, after=0)
    credit.spend(ONE, 3)
    with pytest.raises(Invalid) as caught:
        credit.acknowledge(ONE, 4)
    assert caught.value.details["sent"] == 3


def test_runs_of_a_thread_are_acknowledged_one_after_another() -> None:
    credit = RunCredit(10)
    credit.begin(ONE, after=0)
    credit.spend(ONE, 2)
    credit.begin(TWO, after=0)
    credit.spend(TWO, 3)
    credit.acknowledge(None, 2)
    assert credit.outstanding == 3, "without a name it is the oldest run"
    credit.acknowledge(TWO, 1)
    credit.acknowledge(ONE, 1)
    assert credit.outstanding == 2, "the first run was acknowledged whole and is forgotten"


async def test_a_full_window_waits_for_an_acknowledgement() -> None:
    credit = RunCredit(1)
    credit.begin(ONE, after=0)
    assert await credit.wait(0.01)
    credit.spend(ONE, 1)
    assert not await credit.wait(0.01)
    credit.acknowledge(ONE, 1)
    assert await credit.wait(0.01)


def test_the_feed_is_counted_by_cursors_with_gaps() -> None:
    credit = FeedCredit(3)
    credit.spend([4, 9, 17])
    assert credit.left == 0
    credit.acknowledge(None, 10)
    assert credit.outstanding == 1
    with pytest.raises(Invalid):
        credit.acknowledge(None, 18)
