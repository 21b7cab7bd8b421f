"""A key of a file is made once; a file that describes it differently is refused by member."""

from collections.abc import Callable

import pytest
import yaml
from django.core.management import CommandError

from agui_host.apply import export
from agui_host.apply.document import KeyValues
from agui_host.apply.team_keys import values_of
from agui_host.teams import keys
from agui_host.teams.models import ApiKey

pytestmark = pytest.mark.django_db(transaction=True)
Apply = Callable[..., str]
HOST = """
teams:
  acme:
    owner: alice@example.com
    keys:
      ci: {role: member, scopes: [read, run], agents: [support, feed], days: 30}
"""


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("role: member", "role: viewer", "role: the key has member,"),
        ("[read, run]", "[read]", "scopes: the key has [read, run],"),
        ("[support, feed]", "[support]", "agents: the key has [feed, support],"),
        (", agents: [support, feed]", "", "agents: the key has [feed, support],"),
        ("days: 30", "days: 7", "days: the key has 30,"),
        (", days: 30", "", "days: the key has 30,"),
    ],
)
def test_a_different_key_is_refused_by_its_member(
    apply: Apply, before: str, after: str, line: str
) -> None:
    apply(HOST)
    for options in (("--plan",), ()):
        with pytest.raises(CommandError) as problem:
            apply(HOST.replace(before, after), *options)
        text = str(problem.value)
        assert text.startswith(f"teams.acme.keys.ci.{line} and a key cannot change; revoke it")
        assert "\n" not in text
    assert ApiKey.objects.count() == 1


def test_a_key_for_all_agents_for_ever_is_not_narrowed_in_silence(apply: Apply) -> None:
    apply(HOST.replace(", agents: [support, feed], days: 30", ""))
    for more, line in (("agents: [support]", "agents: the key has null"), ("days: 7", "days: the")):
        with pytest.raises(CommandError, match=line):
            apply(HOST.replace("agents: [support, feed], days: 30", more))


def test_the_order_of_scopes_and_agents_means_nothing(apply: Apply) -> None:
    apply(HOST)
    other = HOST.replace("[read, run]", "[run, read]").replace("support, feed", "feed, support")
    assert apply(other) == "No changes.\n"


def test_a_revoked_key_is_made_anew(apply: Apply) -> None:
    apply(HOST)
    keys.revoke(ApiKey.objects.get())
    assert "+ acme key ci: member\n" in apply(HOST.replace("[support, feed]", "[support]"))


def test_an_export_has_every_member_of_a_key(apply: Apply) -> None:
    apply(HOST)
    text = export.text()
    key = yaml.safe_load(text)["teams"]["acme"]["keys"]["ci"]
    assert key["days"] == 30
    assert key.keys() == values_of(ApiKey.objects.get()).keys() == KeyValues.model_fields.keys()
    assert apply(text) == "No changes.\n"
