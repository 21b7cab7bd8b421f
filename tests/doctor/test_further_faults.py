"""Faults planted in the machines around the host, and the count of all planted faults."""

import re
import shutil
import socket
import ssl
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import clock, roles
from agui_host.doctor import findings
from agui_host.doctor.checks import database, files, pooler
from agui_host.embedded import ports
from tests import needs
from tests.acceptance.engines.replicated import Server
from tests.backends.servers.bouncer import PgBouncer
from tests.backends.test_tls_engines import Authority
from tests.cast import Cast, cast, start
from tests.doctor.machines import greeting_server
from tests.doctor.test_findings import fault, look, sql
from tests.runs.asking import end

__all__ = ["cast"]
pytestmark = pytest.mark.django_db
LEAST_FAULTS = 47


def test_a_mail_server_that_rejects_the_password(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_HOST_USER = "127.0.0.1", "agui"
    settings.EMAIL_HOST_PASSWORD = "wrong"
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    answers = (b"220 mail\r\n", b"250-mail\r\n250 AUTH PLAIN\r\n", b"535 no\r\n", b"221 bye\r\n")
    with greeting_server(*answers) as settings.EMAIL_PORT:
        assert "rejects the user or the password" in fault("mail").text


def test_a_trigger_that_is_disabled() -> None:
    sql("alter table runs_run disable trigger user")
    assert fault("functions").text.startswith("Missing, disabled or changed: ")


def test_a_role_that_owns_a_table() -> None:
    (name,) = [name for name in (look("roles").detail.split(", ")) if name.endswith("_app")]
    sql(f'create table theirs (); alter table theirs owner to "{name}"')
    assert "owns tables" in fault("roles").text


def test_connections_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are, of a limit that leaves none."""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(psycopg.connect(**connector_params()))
        taken = int(look("connections").detail.split()[0])
        assert taken > 3
        few = database.TAKEN.replace("current_setting('max_connections')::int", f"{taken}").replace(
            "- current_setting('superuser_reserved_connections')::int", ""
        )
        monkeypatch.setattr(database, "TAKEN", few)
        assert fault("connections").text.endswith("connections of PostgreSQL are taken.")


def test_connections_of_other_roles_count_for_the_application() -> None:
    """It is not shown the kind of their sessions."""
    name = roles.name(connection.settings_dict["NAME"], roles.APPLICATION)
    with psycopg.connect(**connector_params()) as session:
        as_owner = session.execute(database.TAKEN).fetchone()
        session.execute(f'set role "{name}"')
        assert session.execute(database.TAKEN).fetchone() == as_owner


def test_a_pooler_that_drops_the_option_against_compilation(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's PostgreSQL has the compiler; the embedded one has not."""
    server = Server(data_dir / "servers" / "one")
    server.binaries = needs.need("postgres").parent
    server.create().start()
    try:
        with PgBouncer(data_dir / "bouncer", "127.0.0.1", server.port) as bouncer:
            place = {"host": "127.0.0.1", "port": str(bouncer.port), "dbname": "postgres"}
            values = connector_params() | place
            monkeypatch.setattr(pooler, "connector_params", lambda: values)
            compiling = fault("jit")
            assert compiling.text.startswith("PostgreSQL compiles long statements of postgres")
            statement = compiling.remedy.partition(" (")[0]
            assert statement == 'alter role "postgres" set jit = off'
            with psycopg.connect(
                host="127.0.0.1", port=server.port, user="postgres", dbname="postgres"
            ) as session:
                session.execute(statement)
            bouncer.kill()
            bouncer.start()
            assert look("jit").detail == "off"
    finally:
        server.stop()


def test_a_web_process_with_another_key_than_the_doctor(settings: Any, tmp_path: Path) -> None:
    """Its own address is tried as well as the public one, which reaches one of them."""
    settings.AGUI_METRICS_KEY, settings.AGUI_DATA_DIR = "k" * 32, tmp_path
    with greeting_server(b"HTTP/1.0 401 Unauthorized\r\n\r\n") as port:
        ports.announce(tmp_path, port)
        refused = fault("metrics")
    assert refused.text == (
        f"http://127.0.0.1:{port}/metrics does not accept AGUI_METRICS_KEY: 401."
    )
    assert refused.remedy == "Give web and this process the same key, and start web again."
    body = b"HTTP/1.0 200 OK\r\n\r\nagui_build_info 1\n"
    with greeting_server(body) as other:
        ports.announce(tmp_path, other)
        faults = look("metrics").faults
    assert [each.text for each in faults] == [
        f"http://127.0.0.1:{port}/metrics cannot be reached: ConnectError."
    ]


def test_scrapes_pass_by_the_environments_proxy(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql("insert into procrastinate_workers default values")
    body = b"HTTP/1.0 200 OK\r\n\r\nagui_worker_slots 200\n"
    with greeting_server(body) as port:
        settings.AGUI_METRICS_ADDRESS = f"127.0.0.1:{port}"
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        assert f"workers at 127.0.0.1:{port}" in look("metrics").detail


def test_a_disk_that_is_almost_full(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=7 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    assert fault("disk").text.endswith("has 7 MB left.")
    assert usage.free < files.LEAST_BYTES


def test_a_chore_that_is_behind(cast: Cast) -> None:
    end(start(cast.alice))
    sql("update events_journal set closed_at = closed_at - interval '10 minutes'")
    late = fault("chores")
    assert re.match(r"The chore words is 60\d s behind\.", late.text)
    assert "Add a worker" in late.remedy


def test_a_certificate_that_expires(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path, "ca", "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.certificate, authority.key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(2):
                client, _ = server.accept()
                with context.wrap_socket(client, server_side=True) as secured:
                    secured.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        settings.AGUI_PUBLIC_URL = f"https://127.0.0.1:{server.getsockname()[1]}"
        assert look("certificate").detail == "valid for 1.0 days", "of two: it is renewed daily"
        now = clock.seconds()
        monkeypatch.setattr(clock, "seconds", lambda: now + 22 * 3600)
        assert re.search(r"expires in 0\.1 days", fault("certificate").text)
        thread.join(5)


def test_every_subject_has_planted_faults() -> None:
    """At least 25 in all are asked for; each is named by an assertion of these files."""
    text = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r'(?:fault|look)\("([a-z ]+)"\)(?!\.detail)', text)
    named += re.findall(r'^        \("[a-z ]+", "([a-z ]+)", "', text, re.MULTILINE)
    named += re.findall(r'in lines\["([a-z ]+)"\]$', text, re.MULTILINE)
    assert set(findings.ORDER) - set(named) == set()
    assert len(named) >= LEAST_FAULTS
