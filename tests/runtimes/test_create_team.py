"""New teams: with an owner and agents, from the operator's command line or by themselves."""

from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command

from agui_host.runtimes.create_team import SlugTaken, create_own_team, create_team
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Invitation, Membership, Role, Team
from tests.cast import Cast


def by_command(*args: str) -> str:
    out = StringIO()
    call_command("create_team", *args, stdout=out)
    return out.getvalue()


def test_a_known_address_owns_it(cast: Cast) -> None:
    user = cast.bob.user
    EmailAddress.objects.create(user=user, email="bob@example.com", verified=True)
    output = by_command("initech", "--name", "Initech", "--owner", "Bob@example.com")
    assert "bob owns initech" in output
    team = Team.objects.get(slug="initech")
    assert team.name == "Initech"
    assert Membership.objects.get(team=team).role == Role.OWNER
    assert Agent.objects.get(team=team).slug == "echo"
    assert not mail.outbox


def test_another_address_is_invited(cast: Cast) -> None:
    output = by_command("initech", "--owner", "new@example.com")
    row = Invitation.objects.get()
    assert (row.email, row.role, row.invited_by) == ("new@example.com", Role.OWNER, "operator")
    link = output.split()[-1]
    assert link.startswith("http://127.0.0.1:8000/invitations/")
    assert link in str(mail.outbox[-1].body)


@pytest.mark.parametrize(
    "args",
    [
        ["acme", "--owner", "a@example.com"],
        ["not a slug", "--owner", "a@example.com"],
        ["initech", "--owner", "nobody"],
    ],
)
def test_what_cannot_be_is_said_and_leaves_nothing(cast: Cast, args: list[str]) -> None:
    with pytest.raises(CommandError):
        by_command(*args)
    assert Team.objects.count() == 2
    assert not Invitation.objects.exists()


def test_a_slug_is_taken_once(cast: Cast) -> None:
    with pytest.raises(SlugTaken):
        create_team("acme", "Other")


def test_names_make_slugs(cast: Cast) -> None:
    assert create_own_team(User(username="dora.d+x", pk=cast.bob.user.pk)).slug == "doradx"
