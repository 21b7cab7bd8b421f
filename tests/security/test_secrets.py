"""Secrets at rest: sealed, rotated, unreadable without a key."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agui_host.security import secrets

OLD, NEW = "o" * 32, "n" * 32
TEXT = "Bearer s3cret \U0001f511"


def test_what_is_sealed_comes_back_and_shows_nothing() -> None:
    sealed = secrets.seal(TEXT)
    assert secrets.unseal(sealed) == TEXT
    assert sealed.isascii()
    assert "s3cret" not in sealed
    assert secrets.seal(TEXT) != sealed


def test_a_changed_or_foreign_text_is_refused_without_saying_it() -> None:
    sealed = secrets.seal(TEXT)
    for bad in (sealed[:-2] + "AA", "", TEXT, "gAAAA"):
        with pytest.raises(secrets.SecretUnreadable) as caught:
            secrets.unseal(bad)
        assert "s3cret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_the_keys_of_the_settings_replace_the_one_of_secret_key(settings: Any) -> None:
    first = secrets.seal(TEXT)
    settings.AGUI_SECRETS_KEYS = [OLD]
    assert secrets.unseal(first) == TEXT
    second = secrets.reseal(first)
    settings.SECRET_KEY = "another"
    assert secrets.unseal(second) == TEXT
    with pytest.raises(secrets.SecretUnreadable):
        secrets.unseal(first)


def test_a_new_key_in_front_reads_the_old_and_the_old_key_can_go(settings: Any) -> None:
    settings.AGUI_SECRETS_KEYS = [OLD]
    sealed = secrets.seal(TEXT)
    settings.AGUI_SECRETS_KEYS = [NEW, OLD]
    rotated = secrets.reseal(sealed)
    settings.AGUI_SECRETS_KEYS = [NEW]
    assert secrets.unseal(rotated) == TEXT
    with pytest.raises(secrets.SecretUnreadable):
        secrets.reseal(sealed)


@pytest.mark.django_db
def test_rotate_secrets_answers_when_there_is_nothing_to_do(capsys: Any) -> None:
    call_command("rotate_secrets")
    assert "0 secrets" in capsys.readouterr().out


def test_the_command_fails_when_something_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "rotate_all", lambda: (1, 2))
    with pytest.raises(CommandError, match="2 secrets cannot be read"):
        call_command("rotate_secrets")
