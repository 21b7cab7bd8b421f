"""HAProxy with the configuration of docs/howto-postgresql.md before a primary and its standby."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agui_host.embedded import child
from agui_host.embedded.engines import ENV
from tests.acceptance.engines.replicated import USER, ReplicatedHost
from tests.acceptance.engines.test_promotion import AFTER, started
from tests.acceptance.host import ROOT, free_port, wait_for
from tests.acceptance.recovery.test_recovery import Reader
from tests.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = ROOT / "docs" / "howto-postgresql.md"
READERS, WORDS, RATE = 4, 400, 20


def block(language: str) -> str:
    """The first one of the section."""
    section = PAGE.read_text().split("## HAProxy\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0]


class ProxiedHost(ReplicatedHost):
    """A host whose DATABASE_URL is HAProxy's address."""

    proxy: subprocess.Popen[bytes]

    def database_url(self) -> str:
        for statement in block("sql").split(";"):
            if statement.strip():
                self.pair.primary.ask(statement)
        text, port = block("haproxy"), free_port()
        places = {"127.0.0.1:6432": port} | {
            f"db{number}.example.com:5432": server.port
            for number, server in enumerate(self.pair.servers, 1)
        }
        for place, there in places.items():
            assert text.count(place) == 1
            text = text.replace(place, f"127.0.0.1:{there}")
        file = self.data / "haproxy.cfg"
        file.write_text(self.configured(text))
        with (self.data / "haproxy.log").open("ab") as log:
            command = [str(need("haproxy")), "-db", "-f", str(file)]
            self.proxy = child.spawn(command, death=signal.SIGKILL, log=log, env=ENV)
        address = f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        # Before its first checks HAProxy gives both servers their turns.
        wait_for(lambda: all(_leads_to_primary(address) for _ in range(4)), "the checks", 30)
        return address

    def configured(self, text: str) -> str:
        """The configuration for the servers of this host."""
        return text

    def stop(self) -> None:
        super().stop()
        if hasattr(self, "proxy"):
            child.stop(self.proxy, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def _leads_to_primary(address: str) -> bool:
    try:
        with psycopg.connect(address, connect_timeout=5) as link:
            return link.execute("select not pg_is_in_recovery()").fetchone() == (True,)
    except psycopg.OperationalError:
        return False


@pytest.fixture
def proxied(data_dir: Path) -> Iterator[ProxiedHost]:
    need("haproxy")
    host = ProxiedHost(data_dir, AGUI_DATABASE_APP_PASSWORD="a-password-of-the-application")
    try:
        host.start()
        yield host
    finally:
        host.stop()


def test_nothing_is_lost_when_it_leads_to_the_promoted_standby(proxied: ProxiedHost) -> None:
    host, pair = proxied, proxied.pair
    script = [{"text": "word ", "n": WORDS, "rate": RATE}]
    readers = [Reader(host, host.begin(script=script)["id"]) for _ in range(READERS)]
    for reader in readers:
        reader.until(2 * RATE)
    promoted_at = pair.fail_over()
    position = [len(reader.events) for reader in readers]
    for reader, before in zip(readers, position, strict=True):
        left = AFTER - (time.monotonic() - promoted_at)
        wait_for(lambda r=reader, n=before: len(r.events) > n, "events after it", left)
    host.wait_status(started(host, AFTER), "succeeded")
    pair.standby.follow(pair.primary)  # at the address of the old primary
    for _ in range(5):
        host.wait_status(started(host, AFTER), "succeeded")
    for reader in readers:
        last = reader.finish(90)
        run = host.run(reader.run_id)
        assert (last["type"], run["events"]) == ("RUN_FINISHED", len(reader.events))
        assert [(row["seq"], row["event"]) for row in host.events(reader.run_id)] == reader.events
    assert host.ready()["status"] == "ready"
