"""The agents this host has code for."""

import importlib
import pkgutil
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.runtimes.versions import digests
from agui_project import foreign_modules

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team

T = TypeVar("T")
DEFAULT_SLUG = "docs"
EVERY_TEAM = "*"
"""In AGUI_AGENTS_FOR."""
EXTRAS = {"ag_ui_langgraph": "langgraph", "langgraph": "langgraph", "pydantic_ai": "llm"}
"""Packages that an extra of this distribution installs."""
_agents: "dict[str, Registered]" = {}


class DuplicateAgent(Exception):
    """Two modules register an agent under the same slug."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An agent in code. ``target`` is what ``@agent`` decorated; ``hidden`` ones get no rows."""

    slug: str
    name: str
    description: str
    state_schema: dict[str, Any] | None
    default_state: Any
    hidden: bool
    target: Any
    repeatable: bool = False
    queue: str = "default"
    raw: bool = True
    on_busy_chat: OnBusy = OnBusy.CANCEL_RUNNING
    input_schema: dict[str, Any] | None = None
    heals_history: bool = True
    recovery: str = "end"
    on_code_change: str = "continue"
    middleware: tuple[dict[str, Any], ...] = ()
    context_providers: tuple[dict[str, Any], ...] = ()
    on_bad_state: str = "ignore"
    worker_grace: float | None = None

    @property
    def values(self) -> dict[str, str]:
        """A team's row follows these values of the code until the team changes it."""
        return {"name": self.name, "description": self.description, "queue": self.queue}

    @property
    def provided(self) -> dict[str, str]:
        """The ``values`` and their module, as a team's row remembers them."""
        return {**self.values, "module": self._named.__module__}

    @property
    def origin(self) -> str:
        """Where it was written, as ``module.name``."""
        return f"{self._named.__module__}.{self._named.__qualname__}"

    @property
    def _named(self) -> Any:
        return self.target if hasattr(self.target, "__qualname__") else type(self.target)


def agent(
    slug: str,
    *,
    description: str = "",
    name: str | None = None,
    state_schema: dict[str, Any] | None = None,
    default_state: Any = None,
    hidden: bool = False,
    repeatable: bool = False,
    queue: str = "default",
    raw: bool = True,
    on_busy_chat: str = OnBusy.CANCEL_RUNNING,
    input_schema: dict[str, Any] | None = None,
    heals_history: bool = True,
    recovery: Literal["end", "continue"] = "end",
    on_code_change: Literal["continue", "end"] = "continue",
    middleware: Sequence[Mapping[str, Any]] = (),
    context_providers: Sequence[Mapping[str, Any]] = (),
    on_bad_state: Literal["ignore", "note", "refuse"] = "ignore",
    worker_grace: float | None = None,
) -> Callable[[T], T]:
    """Register a function, or a class or object with ``run(input)``, as the agent ``slug``.

    ``state_schema`` is a JSON Schema of the state, which clients and people see; ``on_bad_state``,
    for new rows, is what follows from a state that does not match it: nothing, a finding of the
    run, or also the refusal of a start. ``default_state`` is that of a run whose client sends none.
    ``repeatable``: a run whose worker was lost may be started again from its beginning; this counts
    for rows that teams get from then on, and so do ``raw``, whether ``rawEvent`` and RAW of its
    events are stored, ``on_busy_chat``, what happens to a chat's new message while its sender's run
    has not ended, and ``heals_history``, whether calls and results of a thread are mended before
    the agent is given them, and ``recovery``: with ``continue`` another worker continues a run
    whose worker is lost or stopped, and ``ctx.once`` gives it the results so far;
    ``on_code_change="end"`` ends it instead if the agent's module has changed since;
    ``worker_grace`` is how many seconds its runs have when their worker is stopped. ``middleware``
    and ``context_providers`` are lists of ``{"name": …}`` with options, for new rows as well.
    ``queue``: which workers execute its runs. ``input_schema``: what MCP's clients send when they
    call it as a tool; it gets that as ``forwardedProps.arguments``. Raises DuplicateAgent if
    another function has the slug.
    """

    def register(target: T) -> T:
        display_name = name or slug.replace("-", " ").replace("_", " ").capitalize()
        entry = Registered(
            slug,
            display_name,
            description,
            state_schema,
            default_state,
            hidden,
            target,
            repeatable,
            queue,
            raw,
            OnBusy(on_busy_chat),
            input_schema,
            heals_history,
            recovery,
            on_code_change,
            _listed(middleware),
            _listed(context_providers),
            on_bad_state,
            worker_grace,
        )
        other = _agents.get(slug)
        # The same name again is the same module imported twice (a reload), not a clash.
        if other is not None and other.origin != entry.origin:
            raise DuplicateAgent(
                f'the agent "{slug}" is registered twice: by {other.origin} and by {entry.origin}'
            )
        _agents[slug] = entry
        return target

    return register


def _listed(entries: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(entry) for entry in entries)


def get(slug: str) -> Registered:
    """The agent in code with that slug; raises RunFailed if this host has none."""
    try:
        return _agents[slug]
    except KeyError:
        raise RunFailed(
            RunErrorCode.AGENT_ERROR, f'This host has no code for the agent "{slug}".'
        ) from None


def all() -> Mapping[str, "Registered"]:
    """Every registered agent by slug, including hidden ones."""
    return MappingProxyType(_agents)


def offered() -> list[str]:
    """The slugs of the agents that every team gets, in order."""
    return sorted(slug for slug, registered in _agents.items() if not registered.hidden)


def autodiscover() -> None:
    """Import what registers agents: the built-in ones, each app's ``agents``, AGUI_AGENT_MODULES.

    Raises ImproperlyConfigured, naming the module, if one of the user's cannot be imported.
    """
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.utils.module_loading import autodiscover_modules

    from agui_host.runtimes import builtin, former_names

    for module in pkgutil.iter_modules(builtin.__path__, builtin.__name__ + "."):
        importlib.import_module(module.name)
    former_names.take()
    autodiscover_modules("agents")
    for module_name in settings.AGUI_AGENT_MODULES:
        try:
            importlib.import_module(module_name)
        except Exception as error:
            raise ImproperlyConfigured(_why_not(module_name, error)) from error


def _why_not(module_name: str, error: Exception) -> str:
    """The reason why a module of AGUI_AGENT_MODULES cannot be imported, in one line."""
    if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
        return (
            f"AGUI_AGENT_MODULES names {module_name!r}, and there is no module {error.name!r}; "
            "correct the name, or put its directory on PYTHONPATH."
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    missing = str(error.name).partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    extra = EXTRAS.get(missing)
    remedy = f"; in a clone of the host: pip install '.[{extra}]'" if extra else ""
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    remedy += "".join(f"; {line}" for line in foreign_modules.hidden())
    return (
        f"AGUI_AGENT_MODULES names {module_name!r}, which cannot be imported: {reason} "
        f"(line {frame.lineno} of {frame.filename}){remedy}."
    )


def provision(team: "Team") -> "list[Agent]":
    """Give the team a row for every registered agent; existing rows stay as they are.

    None if AGUI_AGENTS_FOR names other teams only.

    ``provisioning.bring`` does it for all teams when the code has changed.
    """
    from django.conf import settings

    from agui_host.runtimes.models import Agent

    if settings.AGUI_AGENTS_FOR and not {EVERY_TEAM, team.slug} & set(settings.AGUI_AGENTS_FOR):
        return []
    has_default = Agent.objects.for_team(team).filter(is_default=True).exists()
    rows = []
    for entry in sorted(_agents.values(), key=lambda entry: entry.slug):
        if entry.hidden:
            continue
        row, _ = Agent.objects.get_or_create(
            team=team,
            slug=entry.slug,
            defaults={
                **entry.values,
                "provided": entry.provided,
                "code": digests.of_code(entry.target),
                "target": entry.slug,
                "repeatable": entry.repeatable,
                "raw": entry.raw,
                "on_busy_chat": entry.on_busy_chat.value,
                "heals_history": entry.heals_history,
                "recovery": entry.recovery,
                "on_code_change": entry.on_code_change,
                "middleware": list(entry.middleware),
                "context_providers": list(entry.context_providers),
                "on_bad_state": entry.on_bad_state,
                "worker_grace": entry.worker_grace,
                "is_tool": True,
                "is_default": entry.slug == DEFAULT_SLUG and not has_default,
            },
        )
        rows.append(row)
    return rows


def state_schema_of(row: "Agent") -> dict[str, Any] | None:
    """The JSON Schema of the agent's state: the team's, else that of its code."""
    if row.state_schema is not None:
        schema: dict[str, Any] = row.state_schema
        return schema
    entry = _agents.get(row.target) if row.kind == "python" else None
    return entry.state_schema if entry else None
