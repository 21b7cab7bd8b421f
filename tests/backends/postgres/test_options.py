"""Options of DATABASE_URL and REDIS_URL hold, or the start stops with one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from agui_host.backends import valkey
from agui_host.backends.postgres import address
from agui_host.backends.valkey import addresses
from agui_host.security.scrub import known

HERE = str(Path(__file__))
PORTS = st.integers(1, 65535)
POSTGRES = "postgres://ann:se%20cret@db.example:5433/app"


def test_all_parts_of_the_address_arrive() -> None:
    settings = address.database(
        f"{POSTGRES}?sslmode=verify-full&sslrootcert={HERE}&options=-c%20x%3D1"
    )
    options = settings.pop("OPTIONS")
    assert settings == {
        "HOST": "db.example", "PORT": "5433", "USER": "ann", "PASSWORD": "se cret", "NAME": "app",
    }  # fmt: skip
    assert (options["sslmode"], options["sslrootcert"]) == ("verify-full", HERE)
    assert options["options"].endswith(" -c x=1")
    assert options["tcp_user_timeout"] == "10000"


def test_what_the_address_says_wins_and_hosts_may_be_several() -> None:
    settings = address.database("postgres://one:1,two:2/app?connect_timeout=9&keepalives_idle=60")
    assert (settings["HOST"], settings["PORT"]) == ("one,two", "1,2")
    assert settings["OPTIONS"]["connect_timeout"] == "9"
    assert settings["OPTIONS"]["keepalives_idle"] == "60"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"{POSTGRES}?sslmod=require", "sslmod"),
        (f"{POSTGRES}?CONN_MAX_AGE=60", "CONN_MAX_AGE"),
        (f"{POSTGRES}?sslmode=verify", "one of disable"),
        (f"{POSTGRES}?sslmode=verify-full&sslrootcert=/nowhere", "cannot be read"),
        (f"{POSTGRES}?sslrootcert={HERE}", "can be unencrypted"),
        ("postgres:///app?sslmode=require", "Unix socket"),
        ("postgres://%2Frun%2Fpg/app?sslmode=require", "Unix socket"),
        ("mysql://db.example/app", "must begin with"),
        (f"{POSTGRES}?sslmode", "cannot be read"),
    ],
)
def test_postgres_options_that_would_not_hold_are_refused(url: str, why: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=why) as raised:
        address.database(url)
    assert "cret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("rediss://cache?ssl_cacerts=/x", "unknown option ssl_cacerts"),
        ("redis://cache?ssl_cert_reqs=required", "use rediss://"),
        ("rediss://cache?ssl_ca_certs=/nowhere", "cannot be read"),
        ("rediss://cache?ssl_cert_reqs=yes", "one of none"),
        ("http://cache", "must begin with"),
        ("redis://ann:p[w@cache", "is not a URL"),
        ("redis+cluster://one,[two:1", "is not a URL"),
        ("redis+sentinel://one:1,two:2", "name of the primary is missing"),
        ("redis+sentinel://one:1,two:x/main", "port is invalid"),
        ("redis+sentinel://one:1,:2/main", "host is missing"),
        ("redis+sentinel://one:1/main/zero", "not a database number"),
        ("redis+sentinel://one/main?ssl_cert_reqs=none", r"use rediss\+sentinel://"),
        ("redis+cluster://one:1,two:2/3", "only the database 0"),
        ("redis+cluster://one?sentinel_password=x", "unknown option sentinel_password"),
        ("rediss+cluster://one?ssl_password=x", "unknown option ssl_password"),
    ],
)
def test_valkey_options_that_would_not_hold_are_refused(url: str, why: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=why):
        valkey.address(url)


def test_several_servers_and_their_options_arrive() -> None:
    url = valkey.address(
        f"rediss+sentinel://ann:se%40cr%2Fet@one:1,[::1]:2,three/main/4?ssl_ca_certs={HERE}"
    )
    assert addresses.parse(url) == (
        "sentinel",
        (("one", 1), ("::1", 2), ("three", 26379)),
        "main",
        {"username": "ann", "password": "se@cr/et", "db": 4, "ssl": True, "ssl_ca_certs": HERE},
        {"username": "ann", "password": "se@cr/et"},
    )
    assert valkey.place(url) == "one:1,[::1]:2,three:26379/main"
    cluster = valkey.address("redis+cluster://:pass@one,two:7000")
    assert addresses.parse(cluster)[1:4] == (
        (("one", 6379), ("two", 7000)),
        "",
        {"password": "pass"},
    )
    apart = addresses.parse(f"{url}&sentinel_password=other")
    assert (apart.credentials, apart.options["password"]) == ({"password": "other"}, "se@cr/et")


@given(
    st.lists(
        st.tuples(st.sampled_from(["one", "a-b.example", "10.0.0.1", "::1", "fe80::2"]), PORTS),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_any_hosts_arrive_and_their_password_is_hidden(nodes: list[tuple[str, int]]) -> None:
    names = ",".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in nodes
    )
    url = valkey.address(f"redis+sentinel://ann:se%40cret@{names}/main")
    assert addresses.parse(url).nodes == tuple(nodes)
    settings = address.database(f"postgres://ann:pass-word@{names}/app")
    assert settings["HOST"] == ",".join(host for host, _ in nodes)
    assert settings["PORT"] == ",".join(str(port) for _, port in nodes)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ANY_NAME", url)
        assert "se@cret" in known({}, {})


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", f"{POSTGRES}?sslmod=require"),
        ("REDIS_URL", "redis://cache?ssl_cert_reqs=none"),
        ("DATABASE_URL", "postgres://ann@127.0.0.1:1/app"),
    ],
)
def test_a_start_stops_with_one_line(name: str, url: str, tmp_path: Path) -> None:
    environment = os.environ | {
        "AGUI_DATA_DIR": str(tmp_path), "DATABASE_URL": POSTGRES, "REDIS_URL": "redis://c",
        name: url,
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "manage.py", "run_worker", "--skip-checks"],
        env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.returncode != 0
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
