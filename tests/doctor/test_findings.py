"""The doctor planted with one fault for each check, which it has to name with its remedy."""

import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.db import connection
from django.utils import timezone
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends import valkey
from agui_host.backends.postgres import roles
from agui_host.backends.postgres.servers import pooler
from agui_host.doctor import findings
from agui_host.doctor.findings import Fault, Finding
from agui_host.embedded import paths
from agui_host.runtimes.models import Agent
from events import partitions
from runs.models import File
from runs.worker.taking import registration
from tests.backends.servers.bouncer import PgBouncer
from tests.cast import Cast, cast
from tests.doctor.machines import greeting_server
from tests.runs.jobs import a_worker

__all__ = ["cast"]
pytestmark = pytest.mark.django_db


def look(name: str) -> Finding:
    subject = next(subject for subject in findings.subjects() if subject.name == name)
    return findings.examine_one(subject)


def fault(name: str) -> Fault:
    """The one fault that the check of this name reports."""
    (only,) = look(name).faults
    return only


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)


@pytest.fixture
def other() -> Iterator[psycopg.Connection[Any]]:
    """A session outside of the test's transaction."""
    with psycopg.connect(**connector_params(), autocommit=True) as session:
        session.execute("set synchronous_commit = off")
        yield session


def test_each_check_has_its_place_and_the_engines_of_tests_are_sound() -> None:
    assert [subject.name for subject in findings.subjects()] == list(findings.ORDER)
    sick = {finding.subject: finding.faults for finding in findings.examine() if finding.faults}
    assert set(sick) == {"workers"}, sick
    assert sick["workers"][0].text == "No worker runs, so runs stay queued."


def test_a_check_waits_for_the_one_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    sql("delete from django_migrations where app = 'runs'")
    by_name = {finding.subject: finding for finding in findings.examine()}
    (first,) = by_name["migrations"].faults
    assert "not applied; the first is runs." in first.text
    assert first.remedy == "agui-host migrate"
    (policies,) = by_name["policies"].faults
    assert policies.text == "It was not checked, because of the fault of roles."
    assert by_name["clock"].faults == ()


def test_a_newer_release() -> None:
    sql("insert into django_migrations (app, name, applied) values ('runs', '9999_x', now())")
    assert "newer release: it has runs.9999_x" in fault("migrations").text


def test_a_module_that_ours_hides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert f"{tmp_path}/events.py hides the host's package events." in fault("modules").text


def test_a_misspelt_setting(settings: Any) -> None:
    settings.AGUI_MISSPELT = {"AGUI_PUBLIC_URI": "AGUI_PUBLIC_URL"}
    assert "Did you mean AGUI_PUBLIC_URL?" in fault("settings").remedy


def test_a_database_that_is_away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from agui_host.backends.postgres import reach

    settings.AGUI_EMBEDDED = {"postgres": False, "valkey": False}
    values = connector_params() | {"host": "127.0.0.1", "port": "1"}
    monkeypatch.setattr(reach, "connector_params", lambda: values)
    gone = fault("database")
    assert gone.text == "DATABASE_URL: PostgreSQL at 127.0.0.1:1: the connection is refused."
    assert gone.remedy.startswith("Check that PostgreSQL runs there")


def test_a_database_that_accepts_no_writes() -> None:
    sql("set local default_transaction_read_only = on")
    assert "default_transaction_read_only is on" in fault("database").text


@pytest.mark.parametrize("part", [roles.APPLICATION, roles.WRITER])
def test_a_role_that_policies_do_not_restrict(part: str) -> None:
    database = connection.settings_dict["NAME"]
    sql(f'alter role "{roles.name(database, part)}" bypassrls')
    assert "is exempt from row-level security" in fault("roles").text


def test_a_role_that_is_not_there() -> None:
    role = roles.name(connection.settings_dict["NAME"], roles.WRITER)
    sql(f'alter role "{role}" rename to "{role}_before"')
    assert f"There is no role {role}" in fault("roles").text


def test_a_role_without_its_rights() -> None:
    role = roles.name(connection.settings_dict["NAME"], roles.APPLICATION)
    sql(f'revoke select on runs_run from "{role}"')  # noqa: S608
    assert fault("roles").text == f"The role {role} has no right to runs_run."


def test_a_policy_that_is_gone() -> None:
    sql("drop policy agui_team on runs_run")
    assert fault("policies").text == "The policies of runs_run are missing or changed."


def test_a_table_without_policies() -> None:
    sql("alter table runs_run disable row level security")
    assert fault("policies").text == "Row-level security is off for runs_run."


def test_a_function_that_everybody_can_execute() -> None:
    sql("grant execute on function agui_make_month to public")
    assert fault("functions").text == "Every role can execute agui_make_month."


def test_a_function_that_the_host_cannot_execute() -> None:
    role = roles.name(connection.settings_dict["NAME"], roles.APPLICATION)
    sql(f'revoke execute on function agui_make_month from "{role}"')
    assert fault("functions").text == f"The role {role} cannot execute agui_make_month."


def test_a_function_that_somebody_has_changed() -> None:
    sql("alter function agui_make_month set enable_seqscan = off")
    assert fault("functions").text == "Missing, disabled or changed: agui_make_month."


def test_months_without_a_partition() -> None:
    sql(f"alter table {partitions.PREFIX}{_month(1)} rename to elsewhere")
    assert "reach 1 months" in fault("partitions").text


def _month(offset: int) -> str:
    from agui_host.backends.postgres import clock

    return f"{partitions.month_after(clock.now().date(), offset):%Y_%m}"


def test_a_pooler_without_sessions(
    data_dir: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agui_host.backends.postgres import reach

    settings.AGUI_EMBEDDED = {"postgres": False, "valkey": False}
    sockets = paths.socket_dir(settings.AGUI_DATA_DIR)
    with PgBouncer(data_dir / "bouncer", sockets) as bouncer:
        values = connector_params() | {"host": "127.0.0.1", "port": str(bouncer.port)}
        for module in (pooler, reach):
            monkeypatch.setattr(module, "connector_params", lambda: values)
        worker, web = look("pooler").faults
    assert worker.remedy == "Set DATABASE_DIRECT_URL to the address of PostgreSQL itself."
    assert "AGUI_DATABASE_APP_PASSWORD" in web.remedy
    assert roles.process.shares is False


def test_a_slot_that_nobody_reads(other: psycopg.Connection[Any]) -> None:
    other.execute("select pg_create_physical_replication_slot('agui_doctor')")
    try:
        assert "pg_drop_replication_slot('agui_doctor')" in fault("replication").remedy
    finally:
        other.execute("select pg_drop_replication_slot('agui_doctor')")


def test_commits_that_wait_for_a_standby(other: psycopg.Connection[Any]) -> None:
    other.execute("alter system set synchronous_standby_names = 'elsewhere'")
    try:
        other.execute("select pg_reload_conf()")
        until = time.monotonic() + 10
        while not look("replication").faults and time.monotonic() < until:
            time.sleep(0.05)
        assert "wait for a synchronous standby (elsewhere)" in fault("replication").text
    finally:
        other.execute("alter system reset synchronous_standby_names")
        other.execute("select pg_reload_conf()")


def test_a_wrong_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 90)
    assert fault("clock").text == "This machine's clock is 90.0 s ahead of the database's."


def test_valkey_that_is_away_or_would_fill_up(settings: Any) -> None:
    client = redis.Redis(unix_socket_path=settings.REDIS_URL.removeprefix("unix://"))
    before = client.config_get("maxmemory*")
    client.config_set("maxmemory", "500mb")
    client.config_set("maxmemory-policy", "noeviction")
    try:
        assert fault("valkey").remedy == "config set maxmemory-policy allkeys-lru"
    finally:
        for name in ("maxmemory", "maxmemory-policy"):
            client.config_set(name, before[name])
        client.close()
    assert look("valkey").detail == f"one server at {valkey.place(settings.REDIS_URL)}"
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "does not answer" in fault("valkey").text


def test_a_store_that_cannot_be_written(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").write_text("")
    settings.AGUI_FILES = str(tmp_path / "file")
    assert "fails: Not a directory" in fault("files").text


def test_another_machines_store(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agui_host.runtimes import file_directory

    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/agui")
    for name in ("one", "other"):
        settings.AGUI_FILES = str(tmp_path / name)
        (tmp_path / name).mkdir()
        (tmp_path / name / file_directory.NAME).write_text(f"{'01'[name == 'one'] * 32}\n")
        if name == "one":
            file_directory.claim()
    assert "is not the directory that keeps the files of this database" in fault("files").text


def test_a_directory_that_only_this_machine_has(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first start here; a web process or worker would mark it, or refuse to start."""
    from agui_host.runtimes import file_directory

    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/agui")
    settings.AGUI_FILES = str(tmp_path / "first")
    assert look("files").faults == (), "no machine has started yet"
    file_directory.claim()
    assert look("files").faults == ()
    settings.AGUI_FILES = str(tmp_path / "second")
    assert "is not the directory that keeps the files of this database" in fault("files").text
    assert not (tmp_path / "second").exists()


def test_a_copy_of_another_machines_directory(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, cast: Cast
) -> None:
    """Made with the machine's image, so the mark is the right one."""
    from agui_host.runtimes import file_directory

    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/agui")
    settings.AGUI_FILES = str(tmp_path / "first")
    file_directory.claim()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    file = File.objects.create(
        team=cast.team, name="a.txt", media_type="text/plain", size=1, sha256="0" * 64,
        created_by="user:alice", creator="user:1", stored_at=timezone.now(),
    )  # fmt: skip
    upload = tmp_path / "first" / file.key
    upload.parent.mkdir()
    upload.write_bytes(b"a")
    assert look("files").faults == ()
    settings.AGUI_FILES = str(tmp_path / "second")
    assert fault("files").text.endswith("second, lacks 1 of the newest 20 uploads.")


def test_an_agent_without_a_row(cast: Cast) -> None:
    Agent.objects.create(team=cast.team, slug="former", name="Former", target="former")
    Agent.objects.filter(team=cast.team, slug="echo").delete()
    (missing,) = [one for one in look("agents").faults if one.remedy.endswith("--all-teams")]
    assert missing.text == "The agent echo is in the code, and 1 teams have no row for it."


def test_an_agent_without_code(cast: Cast) -> None:
    Agent.objects.create(team=cast.team, slug="former", name="Former")
    faults = look("agents").faults
    assert any(one.text.startswith("Teams have the agent former enabled") for one in faults)


def test_a_queue_without_a_worker(cast: Cast) -> None:
    sql("delete from runs_worker")
    a_worker()
    Agent.objects.create(team=cast.team, slug="large", name="Large", target="echo", queue="gpu")
    missing = fault("workers")
    assert missing.text == "No worker serves the queue gpu, which 1 agents use."
    assert missing.remedy.startswith("agui-host worker --queues gpu")
    a_worker("gpu")
    assert look("workers").detail == "default: 1, gpu: 1"


def test_metrics_that_nobody_serves(settings: Any) -> None:
    registration.register(["default"], 1, scraped_at="127.0.0.1:1")
    assert look("metrics").detail == "not set"
    settings.AGUI_METRICS_ADDRESS = "127.0.0.1:1"
    assert "No worker answers scrapes" in fault("metrics").text
    settings.AGUI_METRICS_KEY = "k" * 32
    settings.AGUI_PUBLIC_URL = "http://127.0.0.1:1"
    web = look("metrics").faults[1]
    assert web.text == "http://127.0.0.1:1/metrics cannot be reached: ConnectError."
    assert web.remedy.startswith("Correct AGUI_PUBLIC_URL, or its proxy")


def test_a_worker_among_others_that_answers_no_scrapes(settings: Any) -> None:
    """Each registers its address; on another machine it could not be told otherwise."""
    registration.register(["default"], 1, scraped_at="0.0.0.0:9464")
    settings.AGUI_METRICS_KEY = "k" * 32
    assert look("metrics").detail == "web was not tried without AGUI_PUBLIC_URL"
    a_worker()
    assert fault("metrics").text == "1 of 2 workers answer no scrapes."
    assert "Set AGUI_METRICS_ADDRESS for each worker" in fault("metrics").remedy
    sql("update runs_worker set scraped_at = '127.1.2.3:1'")
    sql("delete from runs_worker where id = (select max(id) from runs_worker)")
    assert fault("metrics").text == "The worker at 127.1.2.3:1 answers no scrapes from here."


def test_a_web_server_that_answers_scrapes_with_something_else(settings: Any) -> None:
    settings.AGUI_METRICS_KEY = "k" * 32
    with greeting_server(b"HTTP/1.0 200 OK\r\n\r\n<html>a page</html>") as port:
        settings.AGUI_PUBLIC_URL = f"http://127.0.0.1:{port}"
        assert "does not accept AGUI_METRICS_KEY: 200" in fault("metrics").text


def test_a_mail_server_that_is_away(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as unused:
        settings.EMAIL_PORT = unused.getsockname()[1]
    assert "cannot be used: [Errno 111] Connection refused" in fault("mail").text


def test_a_check_that_fails_is_a_fault() -> None:
    def check() -> str:
        raise RuntimeError("on\nfire")

    (only,) = findings.examine_one(findings.Subject("x", check)).faults
    assert only.text == "It could not be checked: RuntimeError: on fire"
