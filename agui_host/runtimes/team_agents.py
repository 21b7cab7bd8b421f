"""A team's agents as the team itself changes them: it can make ``http`` and ``external`` agents.

Agents that are code or processes on the host's machines are the operator's; a team may change the
rules by which they run (``RULES``, ``LISTS``), and nothing else. An external agent has only rules.
"""

from collections.abc import Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable
from agui_host.runtimes import team_options
from agui_host.runtimes.caller import Caller
from agui_host.runtimes.kinds import kinds, on_behalf
from agui_host.runtimes.kinds.http import RESERVED, Timeouts
from agui_host.runtimes.models import Agent, Policy, RecoveryMode
from agui_host.security.addresses import check_url
from agui_host.security.secrets import SecretUnreadable
from agui_host.teams import audit
from agui_host.teams.tenancy import TeamQuerySet

HTTP = kinds.HTTP.name
KINDS = kinds.OF_TEAM
PROTOCOLS = ("auto", "1.0", "0.x")
RULES = frozenset({
    "name", "description", "on_busy", "on_busy_chat", "policy", "raw", "timeout_seconds",
    "repeatable", "recovery", "recovery_attempts", "recovery_pause", "worker_grace",
    "on_code_change", "heals_history", "questions", "state_schema", "on_bad_state",
    "is_tool", "queue", "is_default", "enabled",
})  # fmt: skip
LISTS = frozenset(team_options.TABLES)
"""The lists of options, which a team can set from the entries for teams."""
INPUT_SCHEMA = "input_schema"
"""The setting with what MCP's clients send to an agent as a tool."""
STEERING = "steering"
"""The setting with the address where an agent takes messages to its runs."""
LONGEST_PATH = 500
LONGEST = 86_400
MAX_HEADERS, MAX_HEADER = 20, 8_000
SHORTEST_SECRET = 32
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


class AgentExists(Conflict):
    """The team already has an agent with this slug."""

    code = "agent_exists"


def visible(caller: Caller) -> TeamQuerySet[Agent]:
    """The agents this caller may see, including disabled ones."""
    caller.require("view")
    rows = Agent.objects.for_team(caller.team)
    return rows if caller.agents is None else rows.filter(slug__in=caller.agents)


def find(caller: Caller, slug: str) -> Agent:
    """One of them. Raises NotFound."""
    if (row := visible(caller).filter(slug=slug).first()) is None:
        raise NotFound("There is no such agent.")
    return row


def create(caller: Caller, values: Mapping[str, Any]) -> Agent:
    """A new agent: ``slug``, ``kind``, ``url`` of a remote one, and what ``change`` takes.

    An external one is refused what breaks AG-UI, unless ``policy`` is set otherwise: its producer
    learns it at once. Raises Forbidden, Invalid, AddressRefused, AgentExists.
    """
    caller.require("manage_agents")
    if not caller.may_use(values["slug"]):
        raise Forbidden("This key is for other agents only.")
    row = Agent(team=caller.team, slug=values["slug"], kind=values.get("kind", HTTP))
    if row.is_fed:
        row.policy = Policy.FAIL
        _refuse_beyond_rules(row, values.keys() - {"slug", "kind"})
    elif "url" not in values:
        raise Invalid("A remote agent needs a url.", details={"path": "url"})
    return _save(caller, row, values, "agent.created")


def change(caller: Caller, slug: str, values: Mapping[str, Any]) -> Agent:
    """Change an agent: RULES and LISTS of any; ``url``, ``settings``, ``headers`` of a remote one.

    ``headers`` are merged by name, null removes one; but a URL with another origin drops all old
    headers, and the secret ``on_behalf_of``. Raises as ``create``, and NotFound.
    """
    find(caller, slug)
    caller.require("manage_agents")
    with transaction.atomic():
        row = visible(caller).select_for_update(of=("self",)).get(slug=slug)
        if not kinds.of(row.kind).remote:
            _refuse_beyond_rules(row, values.keys())
        return _save(caller, row, values, "agent.changed")


def remove(caller: Caller, slug: str) -> None:
    """Delete an agent of the team; one with runs is disabled and loses its secrets instead."""
    find(caller, slug)
    caller.require("manage_agents")
    with transaction.atomic():
        row = visible(caller).select_for_update(of=("self",)).get(slug=slug)
        if not kinds.of(row.kind).of_team:
            raise Forbidden("This agent belongs to the operator; a team can only switch it off.")
        audit.record(caller, caller.team, "agent.deleted", slug)
        try:
            with transaction.atomic():
                row.delete()
        except ProtectedError:
            row.enabled = row.is_default = False
            row.secrets = ""  # All of them, including those of its middleware.
            row.save()


def _refuse_beyond_rules(row: Agent, fields: Set[str]) -> None:
    if not (beyond := sorted(fields - RULES - LISTS)):
        return
    details = {"fields": beyond}
    if row.is_fed:
        raise Invalid("An external agent has no url, settings or headers.", details=details)
    raise Forbidden(
        "This agent belongs to the operator; a team can change its rules only.", details=details
    )


def _save(caller: Caller, row: Agent, values: Mapping[str, Any], action: str) -> Agent:
    for name in RULES & values.keys():
        setattr(row, name, values[name])
    if "recovery" in values:
        check_recovery(row)
    if values.get("state_schema") is not None:
        check_schema(values["state_schema"], "state_schema", "state_schema")
    for name in sorted(LISTS & values.keys()):
        team_options.put(row, name, values[name])
    row.withdrawn = row.withdrawn and "enabled" not in values  # From now on it is the team's word.
    row.name = row.name or row.slug
    before = row.target
    if "url" in values:
        check_url(values["url"])
        row.target = values["url"]
    if "settings" in values:
        row.settings = _settings(values["settings"])
    secrets = secrets_of(row)
    if origin(before) != origin(row.target):
        # A person who may change the address must not use it to learn secrets.
        secrets["headers"], secrets[on_behalf.SECTION] = {}, ""
    if on_behalf.SECTION in values:
        secrets[on_behalf.SECTION] = checked_secret(values[on_behalf.SECTION])
    row.seal(
        {
            **secrets,
            "headers": merged_headers(secrets.get("headers", {}), values.get("headers") or {}),
        }
    )
    try:
        with transaction.atomic():
            if row.is_default:
                others = Agent.objects.for_team(caller.team).filter(is_default=True)
                others.exclude(pk=row.pk).update(is_default=False)
            row.save()
            audit.record(caller, caller.team, action, row.slug, fields=sorted(values))
    except IntegrityError:
        raise AgentExists(details={"slug": row.slug}) from None
    return row


def check_recovery(row: Agent) -> None:
    """Raises Invalid if the host cannot continue runs as the agent's ``recovery`` asks."""
    continues = row.recovery == RecoveryMode.CONTINUE
    if continues and not kinds.of(row.kind).continues:
        raise Invalid(
            f"The host cannot continue runs of agents of the kind {row.kind}.",
            details={"path": "recovery"},
        )


def secrets_of(row: Agent) -> dict[str, Any]:
    """Its secrets; empty if their key is gone, so that they show as missing and can be reset."""
    try:
        return row.unsealed()
    except SecretUnreadable:
        return {}


def origin(url: str) -> list[str]:
    """The scheme and host of an address: what its headers are for."""
    return url.split("/")[:3]


def _settings(members: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the http kind; any other is refused rather than dropped."""
    known = Timeouts.__slots__
    for name, value in members.items():
        if name == "protocol":
            if value not in PROTOCOLS:
                raise Invalid(f"protocol must be one of {', '.join(PROTOCOLS)}.", details=_at(name))
        elif name == INPUT_SCHEMA:
            check_schema(value, INPUT_SCHEMA, f"settings.{INPUT_SCHEMA}")
        elif name == STEERING:
            _check_steering(value)
        elif name not in known:
            raise Invalid(f"Unknown setting {name!r}.", details=_at(name))
        elif type(value) not in (int, float) or not 0 < value <= LONGEST:
            raise Invalid(f"{name} must be a number of seconds up to {LONGEST}.", details=_at(name))
    return dict(members)


def check_schema(value: Any, name: str, path: str) -> None:
    """Raises Invalid unless the value is a JSON Schema of an object."""
    if not isinstance(value, dict) or value.get("type") != "object":
        raise Invalid(f"{name} must be the schema of an object.", details={"path": path})
    try:
        ResponseSchema(value)
    except Unusable as unusable:
        raise Invalid(f"{name}: {unusable}", details={"path": path}) from None


def _check_steering(value: Any) -> None:
    try:
        parts = urlsplit(value) if isinstance(value, str) and len(value) <= LONGEST_PATH else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme or parts.netloc or not value.isprintable():
        problem = "steering must be a path of the agent's own server, such as /runs/{run_id}/say."
        raise Invalid(problem, details=_at(STEERING))


def _at(name: str) -> dict[str, str]:
    return {"path": f"settings.{name}"}


def merged_headers(stored: Mapping[str, str], changes: Mapping[str, Any]) -> dict[str, str]:
    """The headers after the changes, of which null removes one. Raises Invalid.

    Names ignore case; the error never contains a value.
    """
    merged = {name.lower(): (name, value) for name, value in stored.items()}
    for name, value in changes.items():
        key = name.lower()
        if not key or not set(key) <= _TOKEN or key in RESERVED:
            raise Invalid("This header cannot be set.", details={"path": f"headers.{name[:80]}"})
        if value is None:
            merged.pop(key, None)
        elif not isinstance(value, str) or not _is_value(value):
            raise Invalid(
                "A header's value must be printable ASCII text.",
                details={"path": f"headers.{name}"},
            )
        else:
            merged[key] = (name, value)
    if len(merged) > MAX_HEADERS:
        raise Invalid(f"An agent has at most {MAX_HEADERS} headers.", details={"path": "headers"})
    return dict(merged.values())


def checked_secret(value: str | None) -> str:
    """The secret that signs the names of end users; "" is none. Raises Invalid."""
    if value and not (len(value) >= SHORTEST_SECRET and _is_value(value)):
        raise Invalid(
            f"The secret must have at least {SHORTEST_SECRET} printable ASCII characters.",
            details={"path": on_behalf.SECTION},
        )
    return value or ""


def _is_value(value: str) -> bool:
    return len(value) <= MAX_HEADER and value.isascii() and value.isprintable() and bool(value)
