"""Fixtures: the command with a file, its people, and the cast for tests of the operator's API."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.management import call_command

from tests.cast import cast

__all__ = ["cast"]
Apply = Callable[..., str]


@pytest.fixture
def apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apply:
    """Apply a text: the lines that the command prints."""
    monkeypatch.setenv("SUPPORT_TOKEN", "Bearer secret-of-support")

    def run(text: str, *options: str) -> str:
        file = tmp_path / "host.yaml"
        file.write_text(text)
        out = StringIO()
        call_command("apply", str(file), *options, stdout=out)
        return out.getvalue()

    return run


@pytest.fixture
def people() -> list[User]:
    users = []
    for name in ("alice", "bob"):
        email = f"{name}@example.com"
        users.append(User.objects.create_user(name, email))
        EmailAddress.objects.create(user=users[-1], email=email, verified=True, primary=True)
    return users
