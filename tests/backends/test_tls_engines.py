"""PostgreSQL and Redis over TLS: a host encrypts each connection, and checks whom it talks to.

Both servers are the machine's own, since those of the wheels are built without TLS.
"""

import asyncio
import datetime
import ipaddress
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.backends import bell, cache, stream_limit, valkey
from agui_host.backends.bell import BellLayer
from agui_host.backends.valkey import seats
from agui_host.embedded import child, embedded, paths
from tests import machine_postgres, needs
from tests.acceptance.host import ROOT, Host, free_port, wait_for

CONNECTIONS = """
select coalesce(application_name, ''), ssl, query from pg_stat_activity join pg_stat_ssl using (pid)
 where backend_type = 'client backend' and pid <> pg_backend_pid()
"""


class Authority:
    """A CA, and a server's certificate from it for ``engines.test`` and these addresses."""

    def __init__(self, folder: Path, name: str, *addresses: str) -> None:
        self.ca, self.certificate = folder / f"{name}-ca.pem", folder / f"{name}.pem"
        self.key = folder / f"{name}.key"
        own, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        names: list[x509.GeneralName] = [x509.DNSName("engines.test")]
        for address in addresses:
            with suppress(ValueError):
                names.append(x509.IPAddress(ipaddress.ip_address(address)))
                continue
            names.append(x509.DNSName(address))
        builders = {
            self.ca: _certificate(name, name, own).add_extension(
                x509.BasicConstraints(ca=True, path_length=None), critical=True
            ),
            self.certificate: _certificate("engines.test", name, server).add_extension(
                x509.SubjectAlternativeName(names), critical=False
            ),
        }
        pem = serialization.Encoding.PEM
        for path, builder in builders.items():
            path.write_bytes(builder.sign(own, hashes.SHA256()).public_bytes(pem))
        format_ = serialization.PrivateFormat.PKCS8
        self.key.write_bytes(server.private_bytes(pem, format_, serialization.NoEncryption()))
        self.key.chmod(0o600)


def _certificate(
    subject: str, issuer: str, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    subject_, issuer_ = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (subject, issuer)
    )
    return (
        x509.CertificateBuilder(issuer_, subject_, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


@contextmanager
def redis_server(folder: Path, authority: Authority) -> Iterator[int]:
    """Redis on 127.0.0.1 and 127.0.0.2 that speaks nothing but TLS; its port."""
    port = free_port()
    command = [
        str(needs.need("redis-server")), "--port", "0", "--tls-port", str(port),
        "--bind", "127.0.0.1", "127.0.0.2", "--tls-cert-file", str(authority.certificate),
        "--tls-key-file", str(authority.key), "--tls-ca-cert-file", str(authority.ca),
        "--tls-auth-clients", "no", "--save", "", "--dir", str(folder),
    ]  # fmt: skip
    with (folder / "redis.log").open("wb") as log:
        server = child.spawn(command, death=signal.SIGTERM, log=log)
    url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={authority.ca}"

    def answers() -> bool:
        try:
            with redis.Redis.from_url(url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            assert server.poll() is None, (folder / "redis.log").read_text()
            return False

    try:
        wait_for(answers, "Redis to listen")
        yield port
    finally:
        child.stop(server, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@pytest.fixture
def folder(data_dir: Path) -> Path:
    """A folder for files that the server's account reads: the data directory's own are private."""
    (made := data_dir / "tls").mkdir()
    return made


@pytest.fixture
def authority(folder: Path) -> Authority:
    return Authority(folder, "right", "127.0.0.1")


@pytest.fixture
def wrong(folder: Path) -> Authority:
    return Authority(folder, "wrong")


def refusal(env: dict[str, str]) -> str:
    """What a process that cannot use its database says, all of it."""
    done = subprocess.run(
        [sys.executable, "manage.py", "run_worker"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    return done.stderr.strip()


def test_web_and_worker_encrypt_each_connection(
    data_dir: Path, authority: Authority, wrong: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests, the writer, the queue, its LISTEN and the heartbeat."""
    monkeypatch.setattr(embedded, "Postgres", machine_postgres.with_tls())
    host, port = Host(data_dir), free_port()
    address = f"127.1.{port >> 8}.{port & 255}"  # its port is always 5432, and others use that
    if account := paths.account_for(data_dir / "postgres"):
        os.chown(authority.key, *account.ids)
    host.postgres_options = [
        f"listen_addresses={address}", "ssl=on",
        f"ssl_cert_file={authority.certificate}", f"ssl_key_file={authority.key}",
    ]  # fmt: skip
    url = (
        f"postgres://postgres@engines.test:5432/postgres?hostaddr={address}"
        f"&sslmode=verify-full&sslrootcert={authority.ca}"
    )
    host.env["DATABASE_URL"] = url
    # Only encrypted connections over TCP; the test itself looks through the socket.
    rules = authority.ca.with_name("pg_hba.conf")
    rules.write_text("local all all trust\nhostssl all all 127.0.0.0/8 trust\n")
    rules.chmod(0o644)
    host.postgres_options.append(f"hba_file={rules}")
    try:
        host.start()
        run = host.begin(script=[{"text": "hello ", "n": 2}])
        assert host.wait_status(run["id"], "succeeded", "failed")["status"] == "succeeded"
        with psycopg.connect(
            host=str(paths.socket_dir(data_dir)), user="postgres", dbname="postgres"
        ) as link:
            link.autocommit = True

            def connections() -> list[tuple[str, bool, str]]:
                return link.execute(CONNECTIONS).fetchall()

            def own_ones_are_there() -> bool:  # the heartbeat's, a second after the start
                names = {name for name, _, _ in connections()}
                return {"agui-writer", "agui-heartbeat"} <= names

            wait_for(own_ones_are_there, "the writer's and the heartbeat's connection")
            rows = connections()
        assert any(query.lower().startswith("listen") for _, _, query in rows), rows
        assert len(rows) >= 6
        assert [row for row in rows if not row[1]] == []
        for bad in (
            url.replace(str(authority.ca), str(wrong.ca)),
            url.replace("engines.test", "else.test"),
        ):
            message = refusal(host.env | {"DATABASE_URL": bad})
            where = "DATABASE_URL: PostgreSQL at (engines|else).test:5432"
            assert re.fullmatch(f"{where}: its certificate is not trusted .*", message), message
    finally:
        host.stop()


async def test_bell_cache_and_seats_work_over_tls(
    data_dir: Path,
    authority: Authority,
    wrong: Authority,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = ((seats, "TIMEOUT"), (cache, "COMMAND_SECONDS"), (bell, "CONNECTING"))
    for module, name in places:
        monkeypatch.setattr(module, name, 10.0)  # certificates are judged here, not time
    with redis_server(data_dir, authority) as port:
        url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={authority.ca}"
        assert await _uses(url, settings) == {"bell": True, "cache": True, "seats": True}
        for bad in (url.replace(str(authority.ca), str(wrong.ca)), url.replace("0.0.1", "0.0.2")):
            assert await _uses(bad, settings) == {"bell": False, "cache": False, "seats": False}
            with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .*certificate"):
                valkey.reach(bad)
        assert valkey.reach(url)
        with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .* rejects"):
            valkey.reach(url.replace("rediss://", "rediss://nobody:wrong@"))


async def _uses(url: str, settings: Settings) -> dict[str, bool]:
    """Which of the three that hold Valkey's address do their work with this one."""
    settings.REDIS_URL = valkey.address(url)
    layer = BellLayer(hosts=[url])
    results = dict.fromkeys(("bell", "cache", "seats"), False)
    with suppress(redis.ConnectionError):
        channel = await layer.new_channel()
        await layer.group_add("here", channel)
        async with asyncio.timeout(10):
            await layer.group_send_many([("here", {"type": "ring"})])
            results["bell"] = await layer.receive(channel) == {"type": "ring"}
    await layer.flush()
    shared = cache.ForgivingCache(url, {})
    resting_until = cache.ForgivingCache.resting_until
    try:
        await asyncio.to_thread(shared.set, "k", "v", 60)
        stored = await asyncio.to_thread(shared.get, "k") == "v"
        results["cache"] = stored and not cache.ForgivingCache.resting_until  # else here only
    finally:
        cache.ForgivingCache.resting_until = resting_until
    owner, here = uuid.uuid4(), stream_limit.Seats()
    async with here.taken(owner, 2):
        results["seats"] = await asyncio.to_thread(stream_limit.count, owner) == 1
    return results
