"""Ends the registration of a worker that is dead, without Django, which takes seconds to import.

Its supervisor starts ``python -m agui_host.embedded.burial NUMBER PIPE`` (``deployed``); psycopg's
parameters come through the pipe, since others can read a command line. The reapers of the other
processes, or of the next worker, see within a moment that the registration is gone, and end the
runs.
"""

import json
import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import Any

import psycopg
from psycopg import sql

from agui_host.security import own_secrets

# A failover that forgets this leaves it to the heartbeat; a standby that is away delays nothing.
# One message, as a pooler accepts neither an option of the connection nor a session's setting.
END = "begin; set local synchronous_commit = local; select agui_end_worker({}); commit"
PAUSES = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0)
"""Seconds between tries, about as long as it takes until the heartbeat is old enough."""
DEADLINE = 8
"""Seconds for one try: a server that is frozen answers nothing, and refuses nothing."""


def end(worker: int, parameters: dict[str, Any]) -> None:
    """End the registration. Raises psycopg.Error, or TimeoutError.

    The worker of this number is dead, its supervisor has collected it; and no other one ever gets
    its number, which is a sequence's. A second call changes nothing.
    """
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(DEADLINE)
    try:
        connection = psycopg.connect(**parameters, autocommit=True)
        try:
            connection.execute(sql.SQL(END).format(worker))
        finally:
            connection.close()
    finally:
        signal.alarm(0)


def main(worker: str, pipe: str) -> None:
    """End the registration with the parameters from the pipe; a few tries."""
    own_secrets.hide()
    with open(int(pipe)) as parameters:
        values = json.load(parameters)
    for pause in (*PAUSES, None):
        try:
            end(int(worker), values)
        except (psycopg.Error, TimeoutError) as error:
            reason = " ".join(str(error).split())
            say(f"worker {worker} is dead, but its registration stays: {reason}")
            if pause is not None:
                time.sleep(pause)
        else:
            say(f"ended the registration of the dead worker {worker}")
            return


def say(text: str) -> None:
    """A line in the supervisor's name. A full disk stops nothing."""
    with suppress(OSError):
        print(f"supervise: {text}", file=sys.stderr, flush=True)


def _too_late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"PostgreSQL did not answer within {DEADLINE} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
