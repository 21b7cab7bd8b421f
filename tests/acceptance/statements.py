"""What a host asks of its database: every message, as PostgreSQL itself logs it."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from agui_host.embedded import paths
from tests.acceptance.host import Host

BACKGROUND = re.compile(
    r"agui-heartbeat|agui-runs|procrastinate_|journal_id <> all|cancel_requested_at is not null"
    r"|pg_try_advisory|select id from runs_worker"
    r"|with recursive waiting|runs_schedule|runs_unreadrun|runs_issue|read_through"
)
"""What a host does by itself: heartbeats, the reaper, periodic tasks, webhooks, schedules."""
CONTROL = re.compile(r"(begin|commit|rollback|savepoint|release)\b[^;]*$", re.IGNORECASE)
WRITES_ALONE = ("agui_start_handed", "agui_take_due_runs", "agui_claim", "agui_say")
"""In messages that write in a transaction of their own, without a COMMIT."""
QUIET, TRIES = 0.2, 3


@dataclass(frozen=True)
class Message:
    """One message to the server, with the name of the connection that sent it."""

    sender: str
    text: str

    @property
    def is_control(self) -> bool:
        return CONTROL.match(self.text) is not None


@dataclass(frozen=True)
class Asked:
    """The messages of one act, in order."""

    messages: list[Message]

    @property
    def statements(self) -> int:
        """All of them but BEGIN, COMMIT and savepoints."""
        return sum(not message.is_control for message in self.messages)

    @property
    def commits(self) -> int:
        """The commits of what was written; a fetch that finds no job writes nothing."""
        texts = [message.text for message in self.messages]
        alone = sum(any(name in text for text in texts) for name in WRITES_ALONE)
        return alone + sum(text.startswith("COMMIT") or "agui_append" in text for text in texts)

    def until_the_end(self) -> "Asked":
        """Up to the commit of the run's terminal event."""
        last = max(
            number
            for number, message in enumerate(self.messages)
            if message.sender == "agui-writer"
            and ("agui_append" in message.text or message.text.startswith("COMMIT"))
        )
        return Asked(self.messages[: last + 1])

    def by(self, *senders: str) -> "Asked":
        return Asked([message for message in self.messages if message.sender in senders])

    def __str__(self) -> str:
        return "\n".join(f"  {message.sender}: {message.text[:150]}" for message in self.messages)


class Statements:
    """Reads what one act after another makes a host ask."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def of(self, act: Callable[[int], object], tries: int = TRIES) -> Asked:
        """What the act asks; of several tries the least: whatever else was going on is not its."""
        return min((self._once(act, number) for number in range(tries)), key=_length)

    def _once(self, act: Callable[[int], object], number: int) -> Asked:
        began = self._settled()
        act(number)
        end = self._settled()
        with self._log.open("rb") as file:
            file.seek(began)
            text = file.read(end - began).decode(errors="replace")
        return Asked(_without_idle_polls(list(_messages(text))))

    def _settled(self) -> int:
        """The size of the log once nothing was added but an idle worker's polls."""
        size, since = self._log.stat().st_size, time.monotonic()
        while time.monotonic() - since < QUIET:
            time.sleep(0.02)
            with self._log.open("rb") as file:
                file.seek(size)
                fresh = file.read()
            news = _messages(fresh.decode(errors="replace"))
            if any("agui_take_due_runs" not in message.text for message in news):
                since = time.monotonic()
            size += len(fresh)
        return size


def _length(path: Asked) -> int:
    return len(path.messages)


def _without_idle_polls(messages: list[Message]) -> list[Message]:
    """Leave out a worker's fetches that found no job: its writer writes nothing before its next."""
    meaningful: list[Message] = []
    is_working = False
    for message in reversed(messages):
        is_fetch = message.sender == "worker" and "agui_take_due_runs" in message.text
        if not is_fetch or is_working:
            meaningful.append(message)
        if message.sender in ("worker", "agui-writer"):
            is_working = not is_fetch
    return meaningful[::-1]


def _messages(text: str) -> Iterator[Message]:
    for line in re.split(r"\n(?=\[)", text):
        match = re.match(r"\[(.*?)\] LOG:\s+(?:statement|execute [^:]*):(.*)", line, re.DOTALL)
        if match is None:
            continue
        text = " ".join(match[2].split()).replace("set local agui.teams", "\0", 1)
        text = re.sub(r"^\0 = '[^']*'; ?", "", text)
        if text and not BACKGROUND.search(f"{match[1]} {text}"):
            yield Message(match[1], text)


@contextmanager
def recorded(host: Host) -> Iterator[Statements]:
    """Let the host's PostgreSQL log all statements for this block."""
    assert host.engines
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as operator:
        operator.execute("alter system set log_statement = 'all'")
        operator.execute("alter system set log_line_prefix = '[%a] '")
        operator.execute("select pg_reload_conf()")
        try:
            yield Statements(host.data / "postgres.log")
        finally:
            operator.execute("alter system reset log_statement")
            operator.execute("alter system reset log_line_prefix")
            operator.execute("select pg_reload_conf()")
