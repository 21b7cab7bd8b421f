"""A kind of agent, as all of the host except its runtime knows it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class BadSettings(ValueError):
    """The settings of an agent are not usable; the message says why."""


def _accept(_: Any) -> None:
    """Check nothing."""


def _no_warnings(_: Any) -> Iterator[str]:
    return iter(())


def _as_they_are(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return settings


@dataclass(frozen=True, slots=True)
class Kind:
    """How the host treats agents of one kind; the defaults fit a kind that needs nothing."""

    name: str
    remote: bool = False
    """A team can make its own, with an address as the target, settings and headers."""
    fed: bool = False
    """It has no runtime here: a producer elsewhere feeds its runs. A team can make its own."""
    continues: bool = False
    """Another worker can continue its runs after theirs is gone."""
    check_settings: Callable[[Any], object] = _accept
    """Called with the settings before each save. Raises BadSettings."""
    check_host: Callable[[Any], object] = _accept
    """Called with checked settings by forms and commands. Raises BadSettings if this host cannot
    run the agent."""
    check_input: Callable[[Mapping[str, Any]], object] = _accept
    """Called with the RunAgentInput before a run is stored. Raises Invalid."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Settings that are true or false and options of ``create_agent``, with their help."""
    warnings: Callable[[Any], Iterator[str]] = _no_warnings
    """What ``create_agent`` warns of, from checked settings."""
    tidy: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _as_they_are
    """The settings with which ``check_agent`` leaves nothing on the machine."""

    @property
    def of_team(self) -> bool:
        """Whether a team can make such agents itself."""
        return self.remote or self.fed

    @property
    def starts_at_once(self) -> bool:
        """Whether a start in a fresh thread needs no look at the kind.

        ``agui_start_handed`` decides the same by names; a test of all kinds compares them.
        """
        return not self.fed and self.check_input is _accept
