"""Reads the environment by type, and collects errors so that a start names all of them.

A variable that is empty counts as not set. ``verify`` raises once, with a line for each invalid
setting: its name, its value unless that is secret, and the remedy.
"""

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from agui_host.protocol.wire import durations

T = TypeVar("T")
Rule = Callable[[str], object]
"""Raises ValueError with the remedy, without a full stop."""

YES = frozenset({"true", "on", "ok", "y", "yes", "1"})
NO = frozenset({"false", "off", "n", "no", "0"})
MOST = 10**15
LONGEST = 10**9  # seconds: the most that timers and timestamps accept


class Environment:
    """Reads variables by type. An invalid one reads as its default until ``verify``."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = os.environ if variables is None else variables
        self.names: set[str] = set()
        self.problems: list[str] = []

    def text(
        self, name: str, *, default: str = "", rule: Rule | None = None, secret: bool = False
    ) -> str:
        """The value unchanged; ``rule`` checks it; a ``secret`` one never appears in messages."""

        def read(value: str) -> str:
            if rule is not None:
                rule(value)
            return value

        # Blanks around a secret are part of it.
        return self.parsed(name, read, default=default, secret=secret, strip=not secret)

    def flag(self, name: str, *, default: bool) -> bool:
        """``true`` or ``false``, or another word for them."""

        def read(value: str) -> bool:
            if value.lower() not in YES | NO:
                raise ValueError("write true or false")
            return value.lower() in YES

        return self.parsed(name, read, default=default)

    def number(self, name: str, *, default: int, least: int = 0, most: int = MOST) -> int:
        """A whole number from ``least`` to ``most``; ``1_000`` is also allowed."""

        def read(value: str) -> int:
            try:
                number = int(value)
            except ValueError:
                number = least - 1
            if not least <= number <= most:
                raise ValueError(f"write a whole number from {least} to {most}")
            return number

        return self.parsed(name, read, default=default)

    def seconds(
        self, name: str, *, default: float, least: float = 0, most: float = LONGEST
    ) -> float:
        """Seconds from ``least`` to ``most``."""

        def read(value: str) -> float:
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not least <= number <= most:
                raise ValueError(f"write a number of seconds from {least:g} to {most}")
            return number

        return self.parsed(name, read, default=default)

    def duration(self, name: str, *, default: str) -> float:
        """Seconds, written as ``30s``, ``500ms`` or ``1m30s``."""

        def read(value: str) -> float:
            try:
                number = durations.seconds(value)
            except ValueError:
                number = 0.0
            if not 0 < number <= LONGEST:
                raise ValueError("write 30s, 500ms, 1m30s or seconds, above 0")
            return number

        return self.parsed(name, read, default=durations.seconds(default))

    def entries(
        self, name: str, *, default: Sequence[str], rule: Rule | None = None, secret: bool = False
    ) -> list[str]:
        """The comma-separated values, without blanks around them; ``rule`` checks each."""

        def read(value: str) -> list[str]:
            values = [part for part in map(str.strip, value.split(",")) if part]
            for entry in values:
                _look(rule, entry, secret)
            return values

        return self.parsed(name, read, default=list(default), secret=secret)

    def choice(self, name: str, *, default: str, among: Iterable[str]) -> str:
        """One of several words."""

        def read(value: str) -> str:
            if value not in among:
                raise ValueError(f"write one of {', '.join(among)}")
            return value

        return self.parsed(name, read, default=default)

    def parsed(
        self,
        name: str,
        parse: Callable[[str], T],
        *,
        default: T,
        secret: bool = False,
        strip: bool = True,
    ) -> T:
        """The result of ``parse``, which raises ValueError, or ImproperlyConfigured with a line."""
        self.names.add(name)
        value = self._variables.get(name, "")
        if not value.strip():
            return default
        try:
            return parse(value.strip() if strip else value)
        except ImproperlyConfigured as error:
            self._report(str(error))
        except ValueError as error:
            self.problem(name, str(error), None if secret else value)
        return default

    def problem(self, name: str, remedy: str, value: str | None = None) -> None:
        """Note that a setting is invalid, for ``verify``."""
        self._report(f"{name} is {value!r}: {remedy}." if value else f"{name}: {remedy}.")

    def note(self, read: Callable[[], T], default: T) -> T:
        """The result of ``read``; notes its ImproperlyConfigured."""
        try:
            return read()
        except ImproperlyConfigured as error:
            self._report(str(error))
        return default

    def is_blank(self, name: str) -> bool:
        """Whether the variable is there and empty, where that differs from not being there."""
        self.names.add(name)
        return name in self._variables and not self._variables[name].strip()

    def misspelt(self) -> dict[str, str]:
        """Unread variables that look like a setting: their names, and the likely setting."""
        strangers = {
            name
            for name in self._variables.keys() - self.names
            if name.startswith(("AGUI_", "ALPINE_"))
        }
        likely = {name: difflib.get_close_matches(name, self.names, 1, 0.85) for name in strangers}
        return {name: matches[0] for name, matches in sorted(likely.items()) if matches}

    def verify(self) -> None:
        """Raises ImproperlyConfigured, a line for each problem."""
        if self.problems:
            raise ImproperlyConfigured("\n".join(self.problems))

    def _report(self, line: str) -> None:
        self.problems.append(" ".join(line.split()))


def _look(rule: Rule | None, entry: str, secret: bool) -> None:
    if rule is None:
        return
    try:
        rule(entry)
    except ValueError as error:
        raise ValueError(str(error) if secret else f"{entry!r} in it: {error}") from None
