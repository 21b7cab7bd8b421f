"""The cast, and the browsers they sit at."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from tests.cast import Actor, cast

__all__ = ["cast"]

Browse = Callable[[Actor], Client]
SURE = {"confirmed": "yes"}
"""What a form posts that has asked whether something is to be destroyed."""


@pytest.fixture
def browse() -> Browse:
    """A browser in which this person has signed in."""

    def browse(actor: Actor) -> Client:
        client = Client(headers={"accept": "text/html"})
        client.force_login(actor.user)
        return client

    return browse


@pytest.fixture
def no_attempts_yet(db: None, settings: Any) -> None:
    """Nobody has tried to sign in before; passwords are hashed fast, not well."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()
