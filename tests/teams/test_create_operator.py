"""Who may change all teams: made, and taken back, on the command line."""

from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

pytestmark = pytest.mark.django_db


def create(*args: str) -> str:
    out = StringIO()
    call_command("create_operator", *args, stdout=out)
    return out.getvalue()


def test_a_new_operator_can_sign_in_to_the_admin(client: Client) -> None:
    lines = create("ops@example.com").splitlines()
    assert lines[0].startswith("ops is an operator: http://127.0.0.1:8000/admin/")
    user = User.objects.get(username="ops")
    assert user.check_password(lines[1].removeprefix("password: "))
    assert user.is_staff
    assert user.is_superuser
    assert EmailAddress.objects.get(user=user).verified
    client.force_login(user)
    assert client.get("/admin/").status_code == 200


def test_an_account_becomes_one_and_can_lose_it() -> None:
    user = User.objects.create_user("alice", "alice@example.com", "secret-of-alice")
    EmailAddress.objects.create(user=user, email="alice@example.com", verified=True)
    assert "password" not in create("Alice@example.com")
    user.refresh_from_db()
    assert user.is_superuser
    assert create("alice@example.com", "--revoke") == "alice is no operator.\n"
    user.refresh_from_db()
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert user.check_password("secret-of-alice")


@pytest.mark.parametrize("args", [("nobody",), ("nobody@example.com", "--revoke")])
def test_a_wrong_address_is_one_line(args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        create(*args)
    assert not User.objects.exists()
