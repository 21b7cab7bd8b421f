"""A hundred thousand messages to runs whose workers are killed: SOAK_MESSAGES.

As ``tests/acceptance/recovery/steering/test_steered.py``, with a seed for each round.
"""

import os
import time

import pytest

from benchmarks.report import keep
from tests.acceptance.recovery.steering.flood import attentive_hosts, flood

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]
MESSAGES = int(os.environ.get("SOAK_MESSAGES", "100000"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "inf"))
SEED = int(os.environ.get("SOAK_SEED", "100"))
RUNS, EACH, KILLS = 20, 1000, 8


def test_no_message_is_lost_or_read_twice() -> None:
    count, continued, rounds, began = 0, 0, 0, time.monotonic()
    with attentive_hosts() as workers:
        while count < MESSAGES and time.monotonic() - began < SECONDS:
            continued += flood(workers, SEED + rounds, runs=RUNS, each=EACH, kills=KILLS)
            rounds += 1
            count += RUNS * (EACH + 1)
            print(f"{count} messages in {time.monotonic() - began:.0f} s", flush=True)
    keep(
        "steering-kills",
        [
            f"{count} messages to {rounds * RUNS} runs, {rounds * KILLS} SIGKILLs of workers,"
            f" after which runs continued {continued} times",
            "each was read once, in order, and the list of messages names its event",
        ],
    )
