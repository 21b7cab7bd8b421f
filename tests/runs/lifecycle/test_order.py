"""The order of a thread's runs, where the clock of the process that starts one is behind."""

import pytest

from runs.lifecycle import history
from runs.models import Run
from tests import clocks
from tests.cast import Cast
from tests.runs.conversing import tell, text, user


def turn(cast: Cast, number: int, ahead: float = 0.0) -> Run:
    with clocks.ahead(ahead):
        return tell(
            cast.alice,
            *text(f"a{number}", f"answer {number}"),
            {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"},
            messages=[user(f"question {number}", f"u{number}")],
        )


@pytest.mark.django_db
@pytest.mark.parametrize("behind", [0.5, 2, 60, 300])
def test_every_turn_is_in_the_history_in_order(cast: Cast, behind: float) -> None:
    runs = [turn(cast, number, ahead=-behind * (number % 2)) for number in range(6)]
    messages = [message["id"] for message in history.current(runs[0].thread_id).messages]
    assert messages == [f"{who}{number}" for number in range(6) for who in "ua"]
