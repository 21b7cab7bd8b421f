"""PostgreSQL as a service: no superuser, with the lines of docs/howto-postgresql.md."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agui_host.embedded import embedded
from tests.acceptance.engines.replicated import USER, Server
from tests.acceptance.host import ROOT, SEED, Host
from tests.acceptance.recovery.test_recovery import TWO, Reader
from tests.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = ROOT / "docs" / "howto-postgresql.md"
ADDRESS = "db.example.com:5432/agui?sslmode=verify-full&sslrootcert=system"
HBA = """
host all {superuser} 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
ADMINISTRATOR = "create role administrator login createrole createdb password 'admin'"
HIDE = "revoke execute on function pg_control_system() from public"
USERS = """
select distinct usename::text from pg_stat_activity
 where backend_type = 'client backend' and pid <> pg_backend_pid()
"""
RIGHTS = "select rolsuper, rolcreaterole from pg_roles where rolname = 'agui'"
PROTECTED = """
select count(*) > 10 and bool_and(relowner::regrole::text = 'agui')
  from pg_class where relrowsecurity
"""


def blocks(language: str) -> list[str]:
    """Those of the section, in their order."""
    section = PAGE.read_text().split("## A service without superuser\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def service(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[Server]:
    """A server that knows a superuser whom its customers never meet."""
    server = Server(data_dir / "servers" / "one")
    if request.param == "debian":
        server.binaries = need("postgres").parent
    server.create()
    (server.folder / "pg_hba.conf").write_text(HBA.format(superuser=USER))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("service", "creates_roles"), [("wheel", True), ("debian", False)], indirect=["service"]
)
def test_the_host_works_without_a_superuser(
    service: Server, data_dir: Path, *, creates_roles: bool
) -> None:
    service.ask(ADMINISTRATOR)
    where = f"host=127.0.0.1 port={service.port} user=administrator password=admin dbname=postgres"
    with psycopg.connect(where, autocommit=True) as link:
        for statement in blocks("sql")[0 if creates_roles else 1].split(";"):
            if statement.strip():
                link.execute(statement)  # type: ignore[call-overload]
    if not creates_roles:
        with psycopg.connect(_where(service, "agui")) as link:
            link.execute(HIDE)
    host = Host(data_dir)
    host.engines = embedded.start(data_dir, postgres=False)
    host.env |= settings_of(host, service)
    try:
        host.python(SEED)
        host.spawn(host.web)
        host.spawn(host.worker)
        host.wait_ready()
        run = host.begin(script=TWO)
        assert Reader(host, run["id"]).finish()["type"] == "RUN_FINISHED"
        assert host.wait_status(run["id"], "succeeded", "failed")["status"] == "succeeded"
        with psycopg.connect(where.replace("dbname=postgres", "dbname=agui")) as link:
            assert link.execute(RIGHTS).fetchone() == (False, creates_roles)
            assert link.execute(PROTECTED).fetchone() == (True,)
        with psycopg.connect(_where(service, "postgres")) as link:
            users = {name for (name,) in link.execute(USERS)}
        assert users == {"agui_app"}, "web and worker own nothing"
        log = host.log_of(host.web) + host.log_of(host.worker)
        assert "database.row_security_off" not in log
        assert ("database.no_timeline" in log) is not creates_roles
    finally:
        host.stop()


def settings_of(host: Host, service: Server) -> dict[str, str]:
    """Execute the page's commands; the settings that they export."""
    (shell,) = blocks("sh")
    assert ADDRESS in shell
    shell = shell.replace(ADDRESS, f"127.0.0.1:{service.port}/agui")
    assert shell.count("agui-host") == 1
    shell = shell.replace("agui-host", f"{sys.executable} manage.py")
    done = subprocess.run(
        ["bash", "-euc", f"{shell}\nenv"],
        cwd=ROOT, env={**os.environ, **host.env}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pairs = (line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    exported = dict(pairs)
    return {name: exported[name] for name in re.findall(r"export (\w+)=", shell)}


def _where(service: Server, database: str) -> str:
    """The superuser's address."""
    return f"host=127.0.0.1 port={service.port} user={USER} dbname={database}"
