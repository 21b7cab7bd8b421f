"""The client's exceptions."""

import ssl

import pytest

from agui_client.errors import (
    AGUIError,
    Broken,
    ConnectionLost,
    Refused,
    RunFailed,
    Untrusted,
    raise_untrusted,
)


def wrapped(inner: Exception) -> Exception:
    try:
        try:
            raise inner
        except Exception as error:
            raise OSError("could not connect") from error
    except OSError as error:
        return error


def test_a_rejected_certificate_is_told_from_a_lost_connection() -> None:
    rejected = ssl.SSLCertVerificationError(1, "failed")
    rejected.verify_message = "self-signed certificate"
    for error in (rejected, wrapped(rejected)):
        with pytest.raises(Untrusted, match="self-signed certificate") as raised:
            raise_untrusted(error)
        assert raised.value.__cause__ is error
    raise_untrusted(wrapped(ValueError("something else")))


def test_a_program_catches_all_of_them_by_one_name() -> None:
    refused = Refused(409, "thread_busy", "Wait.")
    assert str(refused) == "409 thread_busy: Wait."
    assert str(RunFailed("", "It failed.")) == "It failed."
    assert str(RunFailed("agent_error", "It failed.")) == "agent_error: It failed."
    assert all(issubclass(each, AGUIError) for each in (Refused, RunFailed, Untrusted))
    assert issubclass(Untrusted, ConnectionLost)
    assert not issubclass(Broken, AGUIError), "it does not leave the package"
    assert Broken("gone", 2.5).retry_after == 2.5
