"""The exceptions that this client raises."""

import ssl
from collections.abc import Callable, Mapping
from typing import Any


class AGUIError(Exception):
    """The base of all exceptions that this client raises on purpose."""


class Refused(AGUIError):
    """The server refused: ``status`` (HTTP, or a WebSocket close code), its ``code``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message


class Reset(Refused):
    """The host's database lost the newest events that you have: its history went back.

    Your copy may differ from this log. Reading it again starts with its first event.
    ``epoch`` is that of the history, ``head`` the newest ``seq`` there is now, where the host names
    them; ``log`` what was read: ``{"run"}``, ``{"thread_id"}``, or empty for the feed.
    """

    def __init__(
        self, epoch: int | None = None, head: int | None = None, status: int = 410
    ) -> None:
        super().__init__(status, "reset", "The history of the host's database went back.")
        self.epoch = epoch
        self.head = head
        self.log: dict[str, Any] = {}

    @classmethod
    def of(cls, details: Mapping[str, Any], status: int = 410) -> "Reset":
        """The reset that the host describes."""
        return cls(details.get("epoch"), details.get("head"), status)


def reset_or(refused: Refused) -> Refused:
    """The refusal of a cursor that came from this host, as what it means: its log went back.

    A host whose backup was restored without ``migrate --restored`` takes it for a client's mistake.
    """
    return Reset() if refused.code == "bad_cursor" else refused


OnReset = Callable[[Reset], object]
"""A program's reaction to a Reset, before the log is read again."""


class ConnectionLost(AGUIError):
    """The server could not be reached for as long as ``timeout`` allows.

    The run probably continues: with the run host, ``connect()`` finds it again.
    """


class Untrusted(ConnectionLost):
    """The server's certificate is not trusted; trying again would change nothing."""


def raise_untrusted(error: BaseException) -> None:
    """Raises Untrusted if TLS rejected the server; httpx and websockets wrap the original error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise Untrusted(f"The server's certificate: {cause.verify_message}") from error
        cause = cause.__cause__ or cause.__context__


class RunFailed(AGUIError):
    """The run ended with RUN_ERROR; ``code`` may be empty."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if code else message)
        self.code = code
        self.message = message


class Broken(Exception):
    """The connection is lost or unusable; ``retry_after`` is the delay the server requested.

    Only inside this package: its callers try again, and raise ConnectionLost in the end.
    """

    def __init__(self, why: object, retry_after: float = 0.0) -> None:
        super().__init__(str(why))
        self.retry_after = retry_after
