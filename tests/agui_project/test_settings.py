"""Every setting, wrong in each way that people get it wrong: one line that names it, and no start.

The table needs a row for each setting of docs/settings.md; the modules are imported anew, with
nothing but the row in the environment.
"""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

import agui_project
from agui_host.protocol.wire import durations
from agui_project.checks import names
from agui_project.environment import Environment
from tests.house.repository import ROOT
from tests.house.test_docs import ROW

KEY = "Zq8Jv2Lr9Xw4Tn7Bk1Pd6Mf3Hs5Gc0YaQe"
HEX_KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
SECRET = "s3cr3t-that-nobody-may-read"
NUMBERS = ("many", "1.5", "-1", "1e3", str(10**40))
COUNTS = (*NUMBERS, "0")
SECONDS = ("long", "-1", "nan", "inf", "1e30", "30s")
SPANS = (*SECONDS, "0")
FLAGS = ("maybe", "2", "tru", "-")
URLS = ("agents.example.com", "ftp://agents.example.com", "https://", "https://a:port", "https://[")

# name: what is refused. A pair is a value and what else is in the environment.
WRONG: dict[str, tuple[str | tuple[str, dict[str, str]], ...]] = {
    "AGUI_DATA_DIR": ("{file}", "{file}/below"),
    "XDG_DATA_HOME": ("{file}",),
    "DATABASE_URL": (
        "db.example/app", f"mysql://ann:{SECRET}@db.example/app", "postgres//db.example",
        f"postgres://ann:{SECRET}@db.example:port/app", f"postgres://ann:{SECRET}@db:70000/app",
        f"postgres://ann:{SECRET}@db.example/app?sslmod=require", "postgres://[::1/app",
        "postgres://db.example/app?sslmode=verify-full&sslrootcert=/nowhere", "postgres://a/%zz",
    ),
    "DATABASE_DIRECT_URL": (
        "db.example/app", f"mysql://ann:{SECRET}@db.example/app",
        f"postgres://ann:{SECRET}@db.example:port/app", f"postgres://ann:{SECRET}@db.example/app",
    ),
    "DATABASE_REPLICA_URL": (
        "db.example/app", f"mysql://ann:{SECRET}@db.example/app",
        f"postgres://ann:{SECRET}@db.example:port/app", f"postgres://ann:{SECRET}@db.example/app",
    ),
    "REDIS_URL": (
        "cache.example:6379", f"http://:{SECRET}@cache.example", "redis:/cache.example",
        f"redis://:{SECRET}@cache.example:port/0", "redis://cache.example:0", "redis://[::1",
        "redis://cache.example/first", "rediss://cache.example?ssl_ca_certs=/nowhere",
        "redis://cache.example:99999/0",
    ),
    "SECRET_KEY": ("short", "a" * 60, "changeme" * 8, "django-insecure-" + KEY),
    "SECRET_KEY_FALLBACKS": (("old", {"SECRET_KEY": KEY}), (f"{KEY},old", {"SECRET_KEY": HEX_KEY})),
    "PORT": (*NUMBERS, "65536", "8000/tcp"),
    "AGUI_PUBLIC_URL": (
        *URLS, "https://agents.example.com/host", "https://ann:pw@agents.example.com",
        "https:agents.example.com", "https://agents.example.com?a=1",
    ),
    "AGUI_TRUSTED_PROXIES": (*NUMBERS, "101", "10.0.0.1"),
    "AGUI_INVITATION_COOLDOWN": NUMBERS,
    "AGUI_INVITATIONS_PER_DAY": NUMBERS,
    "AGUI_SIGNUP": ("maybe", "Open", "true"),
    "AGUI_OIDC_URL": tuple((url, {"AGUI_OIDC_CLIENT_ID": "host"}) for url in URLS),
    "AGUI_OIDC_CLIENT_ID": (("", {"AGUI_OIDC_URL": "https://id.example.com"}),),
    "AGUI_OIDC_SCOPES": ("openid email", 'openid,"email"'),
    "AGUI_OIDC_VERIFIED_DOMAINS": ("@example.com", "example", "https://example.com"),
    "AGUI_SAML_METADATA_URL": (*URLS, "http://id.example.com/metadata"),
    "AGUI_SAML_METADATA_FILE": (
        "{file}", "/nowhere/metadata.xml",
        ("{metadata}", {"AGUI_SAML_METADATA_URL": "https://id.example.com"}),
    ),
    "AGUI_SAML_EMAIL": ("e mail", "<mail>"),
    "AGUI_SAML_USERNAME": ("user name", "uid,user name"),
    "AGUI_SAML_GROUPS": ("member of", '"groups"'),
    "AGUI_SAML_VERIFIED_DOMAINS": ("@example.com", "example", "https://example.com"),
    "EMAIL_URL": (
        f"ann:{SECRET}@mail.example.com", f"imap://ann:{SECRET}@mail.example.com", "smtp+tls://",
        f"smtp+tls://ann:{SECRET}@mail.example.com:port", "smtp:mail.example.com",
        "consolemail://mail.example.com",
    ),
    "AGUI_EMAIL_FROM": ("nobody", "Agents", "@example.com", "agents@"),
    "AGUI_ALLOWED_HOSTS": ("https://a.example", "a.example,b.example:8000", "a b", "a/b"),
    "AGUI_ALLOWED_ORIGINS": ("app.example.com", "https://a.example/", "https://a.example,b", "*,b"),
    "AGUI_DEMO_API_KEY": ("short", "ü" * 40),
    "AGUI_SECRETS_KEYS": ("short", f"{KEY},short"),
    "AGUI_OUTBOUND_ALLOW": ("http://x", "a b", "10.0.0.1:80", "2130706433", "*", "localhost,*"),
    "AGUI_COMMIT": ("1f0c 2d4e", "x" * 65),
    "AGUI_AGENTS_FOR": ("a team", "acme;globex", "acme/globex"),
    "AGUI_AGENT_MODULES": ("my-agents", "my_agents.py/", "agents,2nd", "./agents.py", "a..b"),
    "AGUI_DATABASE_ROLES": FLAGS,
    "AGUI_SCRIPTED_AGENT": FLAGS,
    "AGUI_PROCESS_KEEP": FLAGS,
    "AGUI_LLM_MODEL": ("gpt",),
    "AGUI_LLM_BASE_URL": URLS,
    "AGUI_LOG_LEVEL": ("LOUD", "info", "10"),
    "AGUI_LOG_JSON": FLAGS,
    "DEBUG": FLAGS,
    "ALPINE_AG_UI_ENABLED": FLAGS,
    "ALPINE_AG_UI_VALIDATE_EVENTS": FLAGS,
    "ALPINE_AG_UI_STREAM_TIMEOUT": ("long", "-1s", "0", "30 seconds", "1" + "0" * 40 + "h"),
    "ALPINE_AG_UI_BUFFER_SIZE": COUNTS,
    "AGUI_MAX_BODY_BYTES": COUNTS,
    "AGUI_BODIES_MAX_BYTES": COUNTS,
    "AGUI_BODY_TIMEOUT": SPANS,
    "AGUI_RUN_TIMEOUT": SPANS,
    "AGUI_MAX_EVENT_BYTES": COUNTS,
    "AGUI_MAX_STATE_BYTES": COUNTS,
    "AGUI_MAX_TEXT_BYTES": COUNTS,
    "AGUI_CONTEXT_MAX_CHARS": NUMBERS,
    "AGUI_CONTEXT_TIMEOUT": SPANS,
    "AGUI_DOCUMENT_MAX_BYTES": NUMBERS,
    "AGUI_DOCUMENTS_MAX": NUMBERS,
    "AGUI_WISDOM_MAX": NUMBERS,
    "AGUI_BUDGETS_MAX": COUNTS,
    "AGUI_ALERTS_MAX": COUNTS,
    "AGUI_WORKER_QUEUES": ("GPU", "gpu;cpu", ",", "-gpu", "a" * 33),
    "AGUI_WORKER_CONCURRENCY": (*COUNTS, "100001"),
    "AGUI_WORKER_GRACE": SECONDS,
    "AGUI_CANCEL_GRACE": SECONDS,
    "AGUI_HEARTBEAT": SPANS,
    "AGUI_WORKER_LOST_AFTER": SPANS,
    "AGUI_REAP_EVERY": SPANS,
    "AGUI_INGEST_LEASE": SPANS,
    "AGUI_LIVENESS_SECONDS": SECONDS,
    "AGUI_LOOP_BLOCK_WARN": SPANS,
    "AGUI_LOOP_BLOCK_LIMIT": SPANS,
    "AGUI_SSE_HEARTBEAT": SPANS,
    "AGUI_KEY_CACHE_SECONDS": (*SECONDS, "3"),
    "AGUI_END_USER_SECONDS": NUMBERS,
    "AGUI_END_USER_RUNS_PER_MINUTE": NUMBERS,
    "AGUI_END_USER_STREAMS": NUMBERS,
    "AGUI_STALL_TIMEOUT": SPANS,
    "AGUI_METRICS_KEY": ("short", "ü" * 40),
    "AGUI_METRICS_ADDRESS": ("9464", "host:", ":9464", "host:0", "host:port", "host:70000"),
    "AGUI_HUB_TICK": SPANS,
    "AGUI_PRICES": ("gpt-5", "gpt-5=1", "m=1/x", "m=-1/2", "m=1e9/2", "=1/2", "m=1/2/3/4"),
    "AGUI_LIMIT_CONCURRENT_RUNS": NUMBERS,
    "AGUI_LIMIT_QUEUED_RUNS": NUMBERS,
    "AGUI_LIMIT_RUNS_PER_MINUTE": NUMBERS,
    "AGUI_LIMIT_EVENTS_PER_SECOND": NUMBERS,
    "AGUI_LIMIT_EVENT_BYTES": NUMBERS,
    "AGUI_LIMIT_RUN_SECONDS": NUMBERS,
    "AGUI_LIMIT_OPEN_STREAMS": NUMBERS,
    "AGUI_LINK_STREAMS": NUMBERS,
    "AGUI_LINK_STREAMS_PER_ADDRESS": NUMBERS,
    "AGUI_LIMIT_STORED_BYTES": NUMBERS,
    "AGUI_LIMIT_RETENTION_DAYS": (*NUMBERS, "100001"),
    "AGUI_FILES": ("{file}", "gs://bucket", "s3://", "s3:///prefix"),
    "AGUI_FILE_MAX_BYTES": COUNTS,
    "AGUI_FILE_TYPES": ("pdf", "image", "*", "image/*;text/*", "Image/*", "*/pdf"),
    "AGUI_FILES_MAX": NUMBERS,
    "AGUI_FILES_MAX_BYTES": NUMBERS,
    "AGUI_FILE_UNUSED_HOURS": (*COUNTS, "1000001"),
    "AGUI_SEAL_AFTER_DAYS": (*NUMBERS, "100001"),
    "AGUI_UPLOAD_TIMEOUT": (*SPANS, "86401"),
    "AGUI_WEBHOOKS_MAX": NUMBERS,
    "AGUI_WEBHOOK_CONCURRENCY": (*COUNTS, "10001"),
    "AGUI_WEBHOOK_TEAM_CONCURRENCY": (*COUNTS, "10001"),
    "AGUI_WEBHOOK_TIMEOUT": SPANS,
    "AGUI_WEBHOOK_RETRIES": ("soon", "5s,,9s", "5s;9s", "-1s", "800000000", "1s," * 40 + "1s"),
    "AGUI_WEBHOOK_BACKLOG": COUNTS,
    "AGUI_WEBHOOK_RETENTION_DAYS": (*COUNTS, "100001"),
    "AGUI_SCHEDULES_MAX": NUMBERS,
    "AGUI_SCHEDULE_SHORTEST": (*SPANS, "59"),
    "AGUI_DB_THREADS": (*COUNTS, "1001"),
    "AGUI_DB_POOL": (*COUNTS, "1"),
    "AGUI_REQUEST_SLOTS": COUNTS,
    "AGUI_START_SLOTS": COUNTS,
    "AGUI_START_REST": (*NUMBERS, "1001"),
    "AGUI_REQUEST_WAIT": SPANS,
    "AGUI_DATABASE_DEADLINE": SECONDS,
}  # fmt: skip
FREE = {
    "AGUI_DATABASE_APP_PASSWORD", "AGUI_CHAT_TASKS", "AGUI_OIDC_NAME", "AGUI_OIDC_CLIENT_SECRET",
    "AGUI_OIDC_GROUPS", "AGUI_SAML_NAME",
    "AGUI_LLM_API_KEY",
}  # fmt: skip
"""Settings that any text is right for."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An environment without settings and without extras; a directory with a ``file`` in it."""
    for name in os.environ.keys() & (WRONG.keys() | FREE):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGUI_DATA_DIR", str(tmp_path))
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "pydantic_ai" else find(name)
    )
    (tmp_path / "file").touch()
    (tmp_path / "metadata.xml").write_text("<IDPSSODescriptor/>")
    yield tmp_path
    # The settings that were read last have configured the loggers.
    read()


def read(**variables: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        for name in [name for name in sys.modules if name.startswith("agui_project.settings")]:
            patch.delitem(sys.modules, name)
        patch.setattr(agui_project, "settings", None)
        try:
            return vars(importlib.import_module("agui_project.settings"))
        finally:
            # The modules of the settings in use come back with the end of the block.
            for name in [name for name in sys.modules if name.startswith("agui_project.settings")]:
                del sys.modules[name]


def refusal(**variables: str) -> list[str]:
    with pytest.raises(ImproperlyConfigured) as raised:
        read(**variables)
    return str(raised.value).split("\n")


def test_every_documented_setting_is_in_the_table() -> None:
    documented = dict(ROW.findall((ROOT / "docs" / "settings.md").read_text()))
    assert WRONG.keys() | FREE == documented.keys()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_one_line_with_its_name_and_a_remedy(name: str, place: Path) -> None:
    for row in WRONG[name]:
        value, others = row if isinstance(row, tuple) else (row, {})
        value = value.replace("{file}", str(place / "file"))
        value = value.replace("{metadata}", str(place / "metadata.xml"))
        lines = refusal(**others, **{name: value})
        assert len(lines) == 1, (value, lines)
        assert re.match(rf"{name}\b", lines[0]), (value, lines)
        assert SECRET not in lines[0], value
        assert len(lines[0]) > len(name) + 20, "it says what to write"


def test_all_that_is_wrong_is_named_at_once(place: Path) -> None:
    lines = refusal(AGUI_DB_THREADS="many", DEBUG="maybe", DATABASE_URL="db", AGUI_SIGNUP="yes")
    assert sorted(re.findall(r"^\w+", line)[0] for line in lines) == [
        "AGUI_DB_THREADS", "AGUI_SIGNUP", "DATABASE_URL", "DEBUG",
    ]  # fmt: skip
    assert {each.name for each in place.iterdir()} == {"file", "metadata.xml"}, "nothing written"


def test_a_name_that_is_misspelt_is_named(place: Path, settings: Any) -> None:
    right = dict.fromkeys(FREE, "text") | {"AGUI_KEY": "a key", "AGUI_VERSION": "1"}
    values = read(AGUI_WORKER_CONCURENCY="5", AGUI_ALOWED_HOSTS="a.example", **right)
    assert values["AGUI_MISSPELT"] == {
        "AGUI_ALOWED_HOSTS": "AGUI_ALLOWED_HOSTS",
        "AGUI_WORKER_CONCURENCY": "AGUI_WORKER_CONCURRENCY",
    }
    settings.AGUI_MISSPELT = values["AGUI_MISSPELT"]
    assert [(each.id, each.hint) for each in names()] == [
        ("agui.W004", "Did you mean AGUI_ALLOWED_HOSTS?"),
        ("agui.W004", "Did you mean AGUI_WORKER_CONCURRENCY?"),
    ]


def test_what_is_empty_is_not_set(place: Path) -> None:
    """An ``env_file`` with ``PORT=`` in it, and compose's ``${PORT:-}``."""
    unset, empty = (
        read(),
        read(
            **dict.fromkeys(
                WRONG.keys() | FREE,
                "",
            )
            | {"AGUI_DATA_DIR": str(place)}
        ),
    )
    for name in ("PORT", "AGUI_LOCAL_URL", "AGUI_DB_THREADS", "ALLOWED_HOSTS", "EMAIL_BACKEND"):
        assert empty[name] == unset[name], name
    assert empty["AGUI_LOCAL_URL"] == "http://127.0.0.1:8000"


def test_what_people_write_is_read(place: Path) -> None:
    values = read(
        AGUI_PUBLIC_URL="https://agents.example.com:8443/", DEBUG="Yes", SECRET_KEY="short",
        AGUI_ALLOWED_HOSTS="a.example, .b.example,*",
        AGUI_ALLOWED_ORIGINS="https://a.example,http://localhost:3000",
        EMAIL_URL="smtp+tls://ann:pw@mail.example.com:587", AGUI_DB_THREADS=" 4 ",
        AGUI_EMAIL_FROM="Agents <agents@example.com>", REDIS_URL="rediss://c:6380/1",
        AGUI_AGENT_MODULES="one, two.three", ALPINE_AG_UI_STREAM_TIMEOUT="1m30s",
        DATABASE_URL="postgres://a:1,b:2/app\n",
    )  # fmt: skip
    assert values["AGUI_PUBLIC_URL"] == "https://agents.example.com:8443"
    assert values["ALLOWED_HOSTS"] == ["a.example", ".b.example", "*", "agents.example.com"]
    assert (values["EMAIL_HOST"], values["EMAIL_PORT"], values["EMAIL_USE_TLS"]) == (
        "mail.example.com", 587, True,
    )  # fmt: skip
    assert values["AGUI_AGENT_MODULES"] == ["one", "two.three"]
    assert (values["AGUI_DB_THREADS"], values["ALPINE_AG_UI_STREAM_TIMEOUT"]) == (4, 90.0)
    assert values["DATABASES"]["default"]["NAME"] == "app"
    assert durations.seconds("1m30s") == 90.0


@pytest.mark.parametrize("key", [KEY, HEX_KEY])
def test_a_good_key_is_taken_as_it_is(key: str, place: Path) -> None:
    assert read(SECRET_KEY=key, SECRET_KEY_FALLBACKS=KEY)["SECRET_KEY"] == key
    reader = Environment({"KEY": f" {key}\n"})
    assert reader.text("KEY", secret=True) == f" {key}\n"


@pytest.mark.parametrize("name", ["AGUI_SAML_METADATA_URL", "AGUI_SAML_METADATA_FILE"])
def test_saml_without_its_extra_is_one_line(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *names: None)
    value = "https://id.example.com" if "URL" in name else str(place / "metadata.xml")
    (line,) = refusal(**{name: value})
    assert line.startswith(name)
    assert "pip install '.[saml]'" in line


INSTALLED = "from agui_project.cli import main; main()"
GRANIAN = ("-m", "granian", "--interface", "asgi", "--ws", "--factory", "--port", "0")
STARTS = {
    "up": ("manage.py", "up", "--port", "0"),
    "worker": ("-c", INSTALLED, "worker"),
    "web": ("manage.py", "supervise", "web", "--port", "0"),
    "granian": (*GRANIAN, "--log-level", "critical", "agui_host.web.application:application"),
    "migrate": ("-c", INSTALLED, "migrate"),
    "check": ("manage.py", "check"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", STARTS)
def test_every_way_to_start_stops_with_a_line_for_each(way: str, tmp_path: Path) -> None:
    wrong = {"AGUI_DB_THREADS": "many", "AGUI_PUBLIC_URL": "agents.example.com", "SECRET_KEY": "x"}
    done = subprocess.run(
        [sys.executable, *STARTS[way]], cwd=ROOT,
        env=os.environ | wrong | {"AGUI_DATA_DIR": str(tmp_path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0
    assert re.findall(r"^\w+", done.stderr, re.MULTILINE) == [
        "SECRET_KEY", "AGUI_PUBLIC_URL", "AGUI_DB_THREADS",
    ], done.stderr  # fmt: skip
    assert len(done.stderr.splitlines()) == 3, done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
