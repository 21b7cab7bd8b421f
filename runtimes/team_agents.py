"""A team's agents as the team itself changes them: it can make ``http`` and ``external`` agents.

Agents that are code or processes on the host's machines are the operator's; a team may change the
rules by which they run (``RULES``), and nothing else. An external agent has nothing but rules.
"""

from collections.abc import Mapping, Set
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from agui_project.errors import Conflict, Forbidden, NotFound
from protocol.errors import Invalid
from runtimes.caller import Caller
from runtimes.kinds.http import RESERVED, Timeouts
from runtimes.models import EXTERNAL, Agent, Policy
from security.addresses import check_url
from security.secrets import SecretUnreadable
from teams import audit
from teams.tenancy import TeamQuerySet

HTTP = "http"
KINDS = (HTTP, EXTERNAL)
"""The kinds of which a team makes its own agents."""
PROTOCOLS = ("auto", "1.0", "0.x")
RULES = frozenset({
    "name", "description", "on_busy", "policy", "timeout_seconds", "repeatable", "is_tool",
    "queue", "is_default", "enabled",
})  # fmt: skip
LONGEST = 86_400
MAX_HEADERS, MAX_HEADER = 20, 8_000
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

    An external one is refused what breaks AG-UI, unless ``policy`` says otherwise: its producer
    learns it at once. Raises Forbidden, Invalid, AddressRefused, AgentExists.
    """
    caller.require("manage_agents")
    if not caller.may_use(values["slug"]):
        raise Forbidden("This key is for other agents only.")
    row = Agent(team=caller.team, slug=values["slug"], kind=values.get("kind", HTTP))
    if row.kind == EXTERNAL:
        row.policy = Policy.FAIL
        _refuse_beyond_rules(row, values.keys() - {"slug", "kind"})
    elif "url" not in values:
        raise Invalid("A remote agent needs a url.", details={"path": "url"})
    return _save(caller, row, values, "agent.created")


def change(caller: Caller, slug: str, values: Mapping[str, Any]) -> Agent:
    """Change an agent: RULES of any; ``url``, ``settings``, ``headers`` of a remote one.

    ``headers`` are merged by name, null removes one; but a URL with another origin drops all old
    headers. Raises as ``create``, and NotFound.
    """
    find(caller, slug)
    caller.require("manage_agents")
    with transaction.atomic():
        row = visible(caller).select_for_update(of=("self",)).get(slug=slug)
        if row.kind != HTTP:
            _refuse_beyond_rules(row, values.keys())
        return _save(caller, row, values, "agent.changed")


def remove(caller: Caller, slug: str) -> None:
    """Delete an agent of the team; one that has run is disabled and loses its secrets instead."""
    find(caller, slug)
    caller.require("manage_agents")
    with transaction.atomic():
        row = visible(caller).select_for_update(of=("self",)).get(slug=slug)
        if row.kind not in KINDS:
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
    if not (beyond := sorted(fields - RULES)):
        return
    details = {"fields": beyond}
    if row.kind == EXTERNAL:
        raise Invalid("An external agent has no url, settings or headers.", details=details)
    raise Forbidden(
        "This agent belongs to the operator; a team can change its rules only.", details=details
    )


def _save(caller: Caller, row: Agent, values: Mapping[str, Any], action: str) -> Agent:
    for name in RULES & values.keys():
        setattr(row, name, values[name])
    row.name = row.name or row.slug
    before = row.target
    if "url" in values:
        check_url(values["url"])
        row.target = values["url"]
    if "settings" in values:
        row.settings = _settings(values["settings"])
    secrets = secrets_of(row)
    if _origin(before) != _origin(row.target):
        # A person who may change the address must not learn by it what they cannot read.
        secrets["headers"] = {}
    row.seal(
        {**secrets, "headers": _merged(secrets.get("headers", {}), values.get("headers") or {})}
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


def secrets_of(row: Agent) -> dict[str, Any]:
    """Its secrets; empty if their key is gone, so that they show as missing and can be reset."""
    try:
        return row.unsealed()
    except SecretUnreadable:
        return {}


def _origin(url: str) -> list[str]:
    return url.split("/")[:3]


def _settings(members: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the http kind; any other is refused rather than dropped."""
    known = Timeouts.__slots__
    for name, value in members.items():
        if name == "protocol":
            if value not in PROTOCOLS:
                raise Invalid(f"protocol must be one of {', '.join(PROTOCOLS)}.", details=_at(name))
        elif name not in known:
            raise Invalid(f"Unknown setting {name!r}.", details=_at(name))
        elif type(value) not in (int, float) or not 0 < value <= LONGEST:
            raise Invalid(f"{name} must be a number of seconds up to {LONGEST}.", details=_at(name))
    return dict(members)


def _at(name: str) -> dict[str, str]:
    return {"path": f"settings.{name}"}


def _merged(stored: Mapping[str, str], changes: Mapping[str, Any]) -> dict[str, str]:
    """Header names ignore case; the error never contains a value."""
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


def _is_value(value: str) -> bool:
    return len(value) <= MAX_HEADER and value.isascii() and value.isprintable() and bool(value)
