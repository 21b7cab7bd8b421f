"""The file has the members of the API, so that neither can drift from the other."""

from collections.abc import Mapping

import pytest
from pydantic import BaseModel
from rest_framework.serializers import Serializer

from agui_host.apply import document
from agui_host.apply.agents import COLUMNS, SECRETS
from agui_host.runtimes.middleware.keys import SECTIONS
from agui_host.teams import limits
from agui_host.teams.api.keys import CreateKeySerializer
from agui_host.teams.api.members import ChangeTeamSerializer
from runs.api.agents import AgentFieldsSerializer, AgentNewSerializer
from runs.api.budgets.resource import BudgetNewSerializer
from runs.api.schedules.serializers import ScheduleFieldsSerializer
from runs.api.webhooks.serializers import WebhookChangeSerializer
from runs.models import BudgetScope

OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "AgentValues": {"slug": "the key of its mapping"},
    "BudgetValues": {},
    "KeyValues": {"name": "the key of its mapping", "expires_at": "days, which stay true in git"},
    "ScheduleValues": {
        "name": "the key of its mapping",
        "run_at": "a moment that passes is no state of a host",
    },
    "TeamValues": {},
    "WebhookValues": {},
}
"""Members of the API that a file has in another form, or cannot have."""
OF_FILES_ONLY = {
    "AgentValues": {"target"},
    "KeyValues": {"days"},
    "TeamValues": {
        "owner", "limits", "members", "domains", "groups", "keys", "agents", "budgets", "webhooks",
        "schedules",
    },
}  # fmt: skip
PAIRS = [
    (document.AgentValues, AgentNewSerializer),
    (document.BudgetValues, BudgetNewSerializer),
    (document.KeyValues, CreateKeySerializer),
    (document.ScheduleValues, ScheduleFieldsSerializer),
    (document.TeamValues, ChangeTeamSerializer),
    (document.WebhookValues, WebhookChangeSerializer),
]


@pytest.mark.parametrize(("values", "serializer"), PAIRS)
def test_each_writable_field_of_the_api_is_a_member(
    values: type[BaseModel], serializer: type[Serializer[object]]
) -> None:
    writable = {name for name, field in serializer().fields.items() if not field.read_only}
    otherwise = OTHERWISE[values.__name__].keys()
    assert otherwise <= writable, "an exception that is none any more"
    members = values.model_fields.keys() - OF_FILES_ONLY.get(values.__name__, set())
    assert members == writable - otherwise


def test_an_export_has_each_member_of_an_agent_but_its_secrets() -> None:
    exported = {"kind", "url", "target", *COLUMNS, *SECTIONS}
    assert document.AgentValues.model_fields.keys() - exported == set(SECRETS)
    assert AgentFieldsSerializer().fields.keys() - exported == set(SECRETS)


def test_limits_and_the_scopes_of_budgets() -> None:
    assert tuple(document.LimitValues.model_fields) == limits.NAMES
    assert set(BudgetScope.values) - set(document.OF_FILES) == {"thread", "run"}
