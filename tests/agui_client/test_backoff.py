"""When to try again, and when to give up."""

import ssl

import pytest

from agui_client import ConnectionLost, Untrusted
from agui_client.backoff import Backoff
from agui_client.reading import Broken


async def test_it_tries_again_until_the_time_is_over() -> None:
    backoff = Backoff(60)
    await backoff.again(Broken("closed"))
    with pytest.raises(ConnectionLost, match=r"no answer for 0 s: closed"):
        await Backoff(0).again(Broken("closed", retry_after=99))


async def test_success_starts_the_time_again() -> None:
    backoff = Backoff(0.01)
    await backoff.again(Broken("closed", retry_after=99))  # waits no longer than its time
    with pytest.raises(ConnectionLost):
        await backoff.again(Broken("closed"))
    backoff.succeeded()
    await backoff.again(Broken("closed"))


async def test_a_certificate_does_not_get_better() -> None:
    cause = ssl.SSLCertVerificationError("refused")
    cause.verify_message = "self-signed"
    error = OSError("no")
    error.__cause__ = cause
    with pytest.raises(Untrusted):
        await Backoff(60).again(error)
