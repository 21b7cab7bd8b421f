"""The cast, and the browsers they sit at."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.cast import Actor, cast

__all__ = ["cast"]

Browse = Callable[[Actor], Client]


@pytest.fixture
def browse() -> Browse:
    """A browser in which this person has signed in."""

    def browse(actor: Actor) -> Client:
        client = Client(headers={"accept": "text/html"})
        client.force_login(actor.user)
        return client

    return browse
