"""The file of ``apply``: its members, and one line for each mistake in it."""

from decimal import Decimal
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from rapidfuzz import process

from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.protocol.questions import rules
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import OnBadState, OnCodeChange, Policy, RecoveryMode
from agui_host.teams.access.members import MOST_KEY_DAYS
from agui_host.teams.models import Scope
from runs.access.budgets.manage import MOST_COST, MOST_TOKENS
from runs.models import AtLimit, Missed, Period, ThreadPolicy
from runs.models.webhook import EVENTS

LARGEST = 4_000_000
"""Bytes of a file."""
Slug = Annotated[str, StringConstraints(pattern=r"^[-\w]{1,64}$")]
RoleName = Literal["owner", "admin", "member", "viewer"]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[Decimal, Field(ge=0, max_digits=24, decimal_places=6)]


OF_FILES = ("agent", "team", "person", "key")
"""The scopes of budgets in files; a thread or run is no part of a configuration."""


class BadFile(Invalid):
    """The file cannot be applied."""


class Members(BaseModel):
    """A mapping of the file; unknown members are refused."""

    model_config = ConfigDict(extra="forbid", use_enum_values=True)

    def present(self) -> dict[str, Any]:
        """The members that the file has, also null ones."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


class LimitValues(Members):
    """A team's own limits; null is the value of the settings, 0 is no limit."""

    concurrent_runs: Count | None = None
    queued_runs: Count | None = None
    runs_per_minute: Count | None = None
    events_per_second: Count | None = None
    event_bytes: Count | None = None
    run_seconds: Count | None = None
    open_streams: Count | None = None
    stored_bytes: Count | None = None
    retention_days: Count | None = None


class FromEnvironment(Members):
    """A secret that the file names instead of containing it."""

    env: str


def env_of(value: Any) -> FromEnvironment | None:
    """``{env: NAME}`` in a value whose shape the document does not check."""
    match value:
        case {"env": str(name), **others} if not others:
            return FromEnvironment(env=name)
    return None


class AgentValues(Members):
    """An agent of a team."""

    kind: Literal[tuple(kinds.KINDS)] = "http"  # type: ignore[valid-type]
    url: str | None = None
    target: str | None = None
    name: str | None = None
    description: str | None = None
    queue: str | None = None
    timeout_seconds: float | None = None
    on_busy: OnBusy | None = None
    on_busy_chat: OnBusy | None = None
    policy: Literal[tuple(Policy.values)] | None = None  # type: ignore[valid-type]
    raw: bool | None = None
    repeatable: bool | None = None
    recovery: Literal[tuple(RecoveryMode.values)] | None = None  # type: ignore[valid-type]
    recovery_attempts: int | None = None
    recovery_pause: float | None = None
    worker_grace: float | None = None
    on_code_change: Literal[tuple(OnCodeChange.values)] | None = None  # type: ignore[valid-type]
    heals_history: bool | None = None
    questions: list[Literal[tuple(rules.RULES)]] | None = None  # type: ignore[valid-type]
    state_schema: dict[str, Any] | None = None
    on_bad_state: Literal[tuple(OnBadState.values)] | None = None  # type: ignore[valid-type]
    is_tool: bool | None = None
    is_default: bool | None = None
    enabled: bool | None = None
    settings: dict[str, Any] | None = None
    middleware: list[dict[str, Any]] | None = None
    context_providers: list[dict[str, Any]] | None = None
    headers: dict[str, str | FromEnvironment] | None = None
    on_behalf_of: str | FromEnvironment | None = None


class BudgetValues(Members):
    """A budget, which its scope, name, unit and period identify."""

    scope: Literal[OF_FILES]  # type: ignore[valid-type]
    of: str | None = None
    tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None
    cost: Annotated[Amount, Field(le=MOST_COST)] | None = None
    reserve: Annotated[Amount, Field(le=MOST_TOKENS)] | None = None
    period: Literal[tuple(Period.values)] | None = None  # type: ignore[valid-type]
    at_limit: Literal[tuple(AtLimit.values)] | None = None  # type: ignore[valid-type]


class KeyValues(Members):
    """An API key, which is made once and never changed."""

    role: RoleName = "member"
    scopes: list[Literal[tuple(Scope.values)]] = Field(  # type: ignore[valid-type]
        default_factory=lambda: list(Scope.values)
    )
    agents: list[Slug] | None = None
    days: Annotated[int, Field(ge=1)] | None = None


class WebhookValues(Members):
    """A webhook, which its address identifies."""

    url: str
    events: list[Literal[tuple(EVENTS)]]  # type: ignore[valid-type]
    agents: list[Slug] | None = None
    contents: bool = False
    enabled: bool | None = None


class ScheduleValues(Members):
    """A schedule, which its name identifies."""

    agent: Slug
    cron: str
    time_zone: str = "UTC"
    input: dict[str, Any] = Field(default_factory=dict)
    thread: Literal[tuple(ThreadPolicy.values)] | None = None  # type: ignore[valid-type]
    thread_id: str | None = None
    missed: Literal[tuple(Missed.values)] | None = None  # type: ignore[valid-type]
    on_busy: OnBusy | None = None
    paused: bool = False


class TeamValues(Members):
    """A team; anything that the file leaves out stays as it is."""

    name: str | None = None
    owner: str | None = None
    key_days: Annotated[int, Field(ge=1, le=MOST_KEY_DAYS)] | None = None
    second_factor: bool | None = None
    time_zone: str | None = None
    limits: LimitValues | None = None
    members: dict[str, RoleName] = Field(default_factory=dict)
    domains: dict[str, RoleName | None] = Field(default_factory=dict)
    groups: dict[str, RoleName | None] = Field(default_factory=dict)
    keys: dict[str, KeyValues] = Field(default_factory=dict)
    agents: dict[Slug, AgentValues] = Field(default_factory=dict)
    budgets: list[BudgetValues] = Field(default_factory=list)
    webhooks: list[WebhookValues] = Field(default_factory=list)
    schedules: dict[str, ScheduleValues] = Field(default_factory=dict)


class Document(Members):
    """The whole file."""

    teams: dict[Slug, TeamValues]


def read(text: str) -> Document:
    """The file's content. Raises BadFile, with one line that names the first mistake."""
    if len(text) > LARGEST:
        raise BadFile(f"The file is larger than {LARGEST:,} bytes.")
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadFile(f"This is not YAML: {' '.join(str(error).split())}") from None
    return checked(content)


def checked(content: Any) -> Document:
    """The document of a parsed file or body. Raises BadFile, which names the first mistake."""
    try:
        return Document.model_validate(content)
    except ValidationError as error:
        raise BadFile(_line(error)) from None


def _line(error: ValidationError) -> str:
    """The first mistake, by its place in the file."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"] if part != "[key]") or "the file"
    if first["type"] == "extra_forbidden":
        nearest = process.extractOne(str(first["loc"][-1]), _names(), score_cutoff=70)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        return f"{place}: there is no such member{hint}"
    if first["type"] == "model_type":
        return f"{place}: this must be a mapping"
    return f"{place}: {first['msg']}"


def _names() -> list[str]:
    models = (Document, TeamValues, LimitValues, AgentValues, BudgetValues, KeyValues,
              WebhookValues, ScheduleValues)  # fmt: skip
    return sorted({name for model in models for name in model.model_fields})
