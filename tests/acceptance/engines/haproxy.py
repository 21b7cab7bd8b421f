"""HAProxy with the configuration of docs/howto-postgresql.md before a primary and its standby."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from agui_host.embedded import child
from agui_host.embedded.engines import ENV
from tests.acceptance.engines.replicated import USER, Pair, ReplicatedHost
from tests.acceptance.host import ROOT, free_port, wait_for
from tests.needs import need

PAGE = ROOT / "docs" / "howto-postgresql.md"


def block(language: str) -> str:
    """The first one of the section."""
    section = PAGE.read_text().split("## HAProxy\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0]


@contextmanager
def before(pair: Pair, folder: Path, change: Callable[[str], str] = str) -> Iterator[str]:
    """HAProxy before these servers; the address that it gives them.

    ``change`` makes another configuration from that of the page.
    """
    for statement in block("sql").split(";"):
        if statement.strip():
            pair.primary.ask(statement)
    text, port = block("haproxy"), free_port()
    places = {"127.0.0.1:6432": port} | {
        f"db{number}.example.com:5432": server.port for number, server in enumerate(pair.servers, 1)
    }
    for place, there in places.items():
        assert text.count(place) == 1
        text = text.replace(place, f"127.0.0.1:{there}")
    file = folder / "haproxy.cfg"
    file.write_text(change(text))
    with (folder / "haproxy.log").open("ab") as log:
        command = [str(need("haproxy")), "-db", "-f", str(file)]
        process = child.spawn(command, death=signal.SIGKILL, log=log, env=ENV)
    try:
        address = f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        # Before its first checks HAProxy gives both servers their turns.
        wait_for(lambda: all(_leads_to_primary(address) for _ in range(4)), "the checks", 30)
        yield address
    finally:
        child.stop(process, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


class ProxiedHost(ReplicatedHost):
    """A host whose DATABASE_URL is HAProxy's address."""

    def database_url(self) -> str:
        self._proxy = ExitStack()
        return self._proxy.enter_context(before(self.pair, self.data, self.configured))

    def configured(self, text: str) -> str:
        """The configuration for the servers of this host."""
        return text

    def stop(self) -> None:
        super().stop()
        if hasattr(self, "_proxy"):
            self._proxy.close()


def _leads_to_primary(address: str) -> bool:
    try:
        with psycopg.connect(address, connect_timeout=5) as link:
            return link.execute("select not pg_is_in_recovery()").fetchone() == (True,)
    except psycopg.OperationalError:
        return False
