"""A key never outlives its maker, gives no more than it has, and can be found by scanners."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone

from agui_host.errors import Forbidden
from agui_host.protocol.errors import Invalid
from agui_host.teams import keys
from agui_host.teams.access import api_keys, invitations, members
from agui_host.teams.authentication import Principal, resolve
from agui_host.teams.models import ApiKey, Membership, Role, Scope, Team

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
EVERYTHING = tuple(Scope)
SCANNED = re.compile(r"^agui_[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}$")


def of(key: str) -> Principal:
    return resolve({"authorization": f"Bearer {key}"}, {})


def owner(user: User, team: Team) -> Principal:
    return Principal("user", user.username, team, Role.OWNER, user.pk)


@pytest.fixture
def short(team: Team) -> tuple[ApiKey, str]:
    """A key that lasts ten days."""
    return keys.create_key(team, "ops", Role.ADMIN, expires=timezone.now() + 10 * DAY)


class TestLives:
    def test_a_minted_key_ends_with_its_maker(self, short: tuple[ApiKey, str]) -> None:
        row, key = short
        child, _ = api_keys.create(of(key), "child", Role.MEMBER, scopes=["read"])
        assert (child.expiry_date, child.made_with) == (row.expiry_date, row)
        with pytest.raises(Invalid, match="until") as caught:
            api_keys.create(
                of(key), "late", Role.MEMBER, scopes=["read"], expires=timezone.now() + 11 * DAY
            )
        assert caught.value.details["path"] == "expires_at"

    def test_a_key_that_rotates_itself_lives_no_longer(self, short: tuple[ApiKey, str]) -> None:
        row, key = short
        for _ in range(3):
            row_now = ApiKey.objects.get(prefix=keys.beginning(key))
            new, key = api_keys.rotate(of(key), row_now.pk, timedelta(hours=1))
            assert new.expiry_date is not None
            assert row.expiry_date is not None
            assert new.expiry_date <= row.expiry_date
        keys.revoke(row)
        assert keys.find(key) is None

    def test_what_ends_a_key_by_rotation_ends_what_it_made(
        self, team: Team, alice: User, short: tuple[ApiKey, str]
    ) -> None:
        row, key = short
        _, text = api_keys.create(of(key), "child", Role.ADMIN, scopes=list(Scope))
        _, grandchild = api_keys.create(of(text), "grandchild", Role.VIEWER, scopes=["read"])
        _, new = api_keys.rotate(owner(alice, team), row.pk, timedelta(0))
        assert [keys.find(each) for each in (text, grandchild)] == [None, None]
        assert keys.find(new) is not None

    def test_a_team_may_set_the_longest_life(self, team: Team, alice: User) -> None:
        old, _ = keys.create_key(team, "old", Role.MEMBER)
        members.change_team(owner(alice, team), {"key_days": 30})
        team.refresh_from_db()
        who = owner(alice, team)
        row, _ = api_keys.create(who, "new", Role.MEMBER, scopes=["read"])
        assert row.expiry_date is not None
        assert row.expiry_date <= timezone.now() + 30 * DAY
        successor, _ = api_keys.rotate(who, old.pk, DAY)
        assert successor.expiry_date is not None
        assert successor.expiry_date <= timezone.now() + 30 * DAY
        with pytest.raises(Invalid):
            api_keys.create(
                who, "late", Role.MEMBER, scopes=["read"], expires=timezone.now() + 31 * DAY
            )


class TestGiving:
    @pytest.mark.parametrize(
        ("scopes", "agents", "role", "passes"),
        [
            (EVERYTHING, None, Role.MEMBER, True),
            (("admin", "read"), None, Role.VIEWER, True),
            (("admin", "read"), None, Role.MEMBER, False),
            (EVERYTHING, ["echo"], Role.VIEWER, False),
            (EVERYTHING, None, Role.OWNER, False),
        ],
    )
    def test_a_key_gives_no_role_above_its_scopes(
        self, team: Team, bob: User, scopes: tuple[str, ...], agents: list[str] | None,
        role: Role, passes: bool,
    ) -> None:  # fmt: skip
        text = keys.create_key(team, "ops", Role.OWNER, scopes=scopes, agents=agents)[1]
        member = Membership.objects.get(team=team, user=bob)
        Membership.objects.filter(pk=member.pk).update(role=Role.ADMIN)

        def invite() -> None:
            invitations.invite(of(text), "eve@example.com", role)

        def change() -> None:
            members.change_role(of(text), member.pk, role)

        for give in (invite, change):
            if passes:
                give()
            else:
                with pytest.raises(Forbidden):
                    give()

    def test_people_make_owners(self, team: Team, alice: User) -> None:
        invitations.invite(owner(alice, team), "eve@example.com", Role.OWNER)


class TestTheText:
    def test_scanners_find_new_keys_and_old_ones_work(self, team: Team) -> None:
        row, key = keys.create_key(team, "ci", Role.MEMBER)
        assert SCANNED.match(key)
        assert row.prefix == key[5:13]
        assert keys.find(key) == row
        for wrong in (key.removeprefix("agui_"), f"agui_{key}", key[:-1]):
            assert keys.find(wrong) is None
        old = "Ab3dEf7h." + "x" * 32
        generator = ApiKey.objects.key_generator
        before = ApiKey.objects.create(
            team=team, name="old", prefix=old[:8], hashed_key=generator.hash(old)
        )
        assert keys.find(old) == before

    def test_an_operators_string_may_begin_like_ours(self, team: Team) -> None:
        text = "agui_operators-own-string-of-forty-characters"
        generator = ApiKey.objects.key_generator
        before = ApiKey.objects.create(
            team=team, name="demo", prefix=text[:8], hashed_key=generator.hash(text)
        )
        assert keys.adopt_key(team, text, "demo", Role.OWNER) == before
        assert keys.find(text) == before
        new = keys.adopt_key(team, f"{text[:5]}other{text[5:]}", "demo", Role.OWNER)
        assert new.prefix == "otherope"


class TestTheMail:
    def test_owners_hear_of_each_new_key(
        self, team: Team, alice: User, bob: User, django_capture_on_commit_callbacks: object
    ) -> None:
        User.objects.filter(pk=alice.pk).update(email="alice@example.com")
        User.objects.filter(pk=bob.pk).update(email="bob@example.com")
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
            row, key = api_keys.create(owner(alice, team), "nightly", Role.MEMBER, scopes=["read"])
        assert [each.to for each in mail.outbox] == [["alice@example.com"]]
        text = str(mail.outbox[0].body)
        for word in ("alice created", "nightly", row.prefix, "http://127.0.0.1:8000/team/keys/"):
            assert word in text
        assert key.partition(".")[2] not in text

    def test_a_key_is_made_while_the_mail_server_is_away(
        self, team: Team, alice: User, settings: object, django_capture_on_commit_callbacks: object
    ) -> None:
        User.objects.filter(pk=alice.pk).update(email="alice@example.com")
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"  # type: ignore[attr-defined]
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # type: ignore[attr-defined]
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
            _, key = api_keys.create(owner(alice, team), "nightly", Role.MEMBER, scopes=["read"])
        assert keys.find(key)
