"""The table: everything that reads what tenants send, and input that is meant to keep it busy.

A new agent, middleware, fold or parser: its lines below, in its own file.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

import django

django.setup()

from agui_host.protocol.errors import HostError  # noqa: E402

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """``run`` gets what ``make`` makes of about ``size`` bytes; it may raise ``refused``."""

    subject: str
    size: int
    make: Callable[[], Any]
    run: Callable[[Any], Awaitable[Any]]
    refused: type[Exception] = HostError


CASES: dict[str, Case] = {}


def case(
    subject: str,
    name: str,
    make: Callable[[], Any],
    run: Callable[[Any], Any],
    size: int = MB,
    refused: type[Exception] = HostError,
) -> None:
    """One line of the table; ``run`` is a coroutine function, or a function that holds the loop."""

    async def called(value: Any) -> None:
        outcome = run(value)
        if hasattr(outcome, "__await__"):
            await outcome

    CASES[f"{subject}: {name}"] = Case(subject, size, make, called, refused)


from tests.bounds import agents, folds, middleware, parsers  # noqa: E402, F401
