"""What a browser is told, and what Django's own check for deployments says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client

from agui_host.web.request_id import address_of
from tests.asgi import ask, ask_now
from tests.house.repository import ROOT

PUBLIC = "https://agents.example.com"


def manage(data: Path, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """A command with the settings of a deployment; no engine is needed."""
    there = {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "AGUI_DATA_DIR": str(data),
    }
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *args], cwd=ROOT, env={**environment, **there, **env},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
def test_djangos_check_for_deployments_finds_nothing(tmp_path: Path) -> None:
    check = ("check", "--deploy", "--fail-level", "WARNING")
    right = {"AGUI_PUBLIC_URL": PUBLIC, "AGUI_DATABASE_APP_PASSWORD": "a-password"}
    done = manage(tmp_path, *check, **right)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout + done.stderr
    loose = manage(tmp_path, *check, AGUI_PUBLIC_URL=PUBLIC, DEBUG="true")
    assert loose.returncode != 0
    assert {"security.W018", "agui.W005"} <= set(re.findall(r"[a-z]+\.W\d+", loose.stderr))


@pytest.mark.slow
def test_an_https_address_makes_everything_strict(tmp_path: Path) -> None:
    show = (
        "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, "
        "s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS, *s.ALLOWED_HOSTS)"
    )
    done = manage(tmp_path, "shell", "-v0", "-c", show, AGUI_PUBLIC_URL=f"{PUBLIC}/")
    assert done.stdout.split() == ["True", "True", "True", "31536000", "agents.example.com"]
    plain = manage(tmp_path, "shell", "-v0", "-c", show)
    assert plain.stdout.split()[:4] == ["False", "False", "False", "0"]
    assert plain.stdout.split()[4:] == ["localhost", "127.0.0.1", "[::1]"]


@pytest.fixture
def https(settings: Any) -> None:
    """As AGUI_PUBLIC_URL=https://… sets it, behind a proxy."""
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 31_536_000


BEHIND = {"x-forwarded-proto": "https"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("url", ["/login/", "/api/v1/runs", "/nowhere"])
async def test_every_answer_protects_itself(https: None, url: str) -> None:
    answer = await ask("GET", url, BEHIND)
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "camera=()" in answer.headers["permissions-policy"]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.django_db(transaction=True)
async def test_answers_of_consumers_too(https: None) -> None:
    answer = await ask("POST", "/agui", BEHIND, json={})
    assert answer.status == 401
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_plain_http_is_led_to_https_and_probes_are_not(https: None) -> None:
    client = Client()
    answer = client.get("/login/?next=/team/")
    place = "https://testserver/login/?next=/team/"
    assert (answer.status_code, answer["Location"]) == (301, place)
    assert ask_now("GET", "/health", {"host": "testserver"}).status == 200


def scripts(page: str) -> list[str]:
    """Scripts that a browser would run without a ``src``."""
    tags = re.findall(r"<script\b[^>]*>", page)
    return [tag for tag in tags if "src=" not in tag and "application/json" not in tag]


def test_the_page_that_tries_the_api_has_a_nonce(db: None) -> None:
    first, second = (Client().get("/api/docs/") for _ in range(2))
    nonces = [
        re.findall(r"'nonce-([^']+)'", each["Content-Security-Policy"]) for each in (first, second)
    ]
    assert scripts(first.content.decode()) == [f'<script nonce="{nonces[0][0]}">']
    assert nonces[0] != nonces[1]
    assert "img-src 'self' data:" in first["Content-Security-Policy"]


@pytest.mark.parametrize("page", ["", "teams/team/", "teams/team/add/", "auth/user/"])
def test_the_admin_has_no_inline_scripts(db: None, page: str) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(f"/admin/{page}")
    assert answer.status_code == 200
    assert scripts(answer.content.decode()) == []
    assert "unsafe" not in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("trusted", "forwarded", "address"),
    [
        (0, "6.6.6.6", "10.0.0.1"),
        (1, "6.6.6.6", "6.6.6.6"),
        (1, "1.1.1.1, 6.6.6.6", "6.6.6.6"),
        (2, "1.1.1.1, 6.6.6.6, 10.0.0.9", "6.6.6.6"),
        (3, "6.6.6.6", "10.0.0.1"),
        (1, "", "10.0.0.1"),
    ],
)
def test_only_trusted_proxies_say_where_a_request_came_from(
    settings: Any, trusted: int, forwarded: str, address: str
) -> None:
    settings.AGUI_TRUSTED_PROXIES = trusted
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    assert address_of({"client": ("10.0.0.1", 1), "headers": headers}) == address


def test_the_scheme_of_a_proxy_is_believed_only_with_an_https_address() -> None:
    assert django_settings.SECURE_PROXY_SSL_HEADER is None
    assert ask_now("GET", "/health", BEHIND).headers.get("strict-transport-security") is None


@pytest.mark.django_db
def test_probes_may_name_any_host(client: Client, settings: Any) -> None:
    """They ask by the machine's address, which is no name of a host that has one."""
    settings.ALLOWED_HOSTS = ["agents.example.com"]
    settings.SECURE_SSL_REDIRECT = True
    probe = {"host": "127.0.0.1:8000"}
    assert ask_now("GET", "/health", probe).status == 200
    assert client.get("/ready", headers=probe).status_code == 200
    assert client.get("/login/", headers=probe, follow=False).status_code in (301, 400)
