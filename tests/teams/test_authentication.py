"""Who asks: a key or a session becomes one Principal, or an error that says what to do."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from agui_host.errors import Forbidden, Unauthenticated
from agui_host.teams import keys
from agui_host.teams.authentication import Principal, refreshed, resolve
from agui_host.teams.models import ApiKey, Membership, Role, Scope, Team
from agui_host.teams.permissions import within

SignIn = Callable[..., dict[str, str]]
LONG_AGO = timezone.now() - timedelta(days=1)
SOON = timezone.now() + timedelta(days=1)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def refused(headers: dict[str, str], cookies: dict[str, str]) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        resolve(headers, cookies)
    assert caught.value.headers == {"WWW-Authenticate": "Bearer"}
    return caught.value


class TestKeys:
    def test_a_key_speaks_for_its_team(self, team: Team) -> None:
        row, key = keys.create_key(team, "ci", Role.VIEWER)
        principal = resolve(bearer(key), {})
        assert principal == Principal(
            "key",
            keys.beginning(key),
            team,
            Role.VIEWER,
            key_prefix=row.prefix,
            only=within(Scope),
            key_id=row.pk,
        )
        assert principal.label == f"key:{keys.beginning(key)}"
        assert principal.can("view")
        assert not principal.can("run")

    @pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer  "])
    def test_the_scheme_is_written_as_one_likes(self, team: Team, scheme: str) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER)[1]
        assert resolve({"authorization": f"{scheme} {key}"}, {}).team == team

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "Bearer",
            "Bearer ",
            "Bearer nope",
            "Bearer \x00" + "x" * 40,
            "Bearer \xe9" + "x" * 40,
        ],
    )
    def test_rubbish_is_refused(self, db: None, header: str) -> None:
        refused({"authorization": header}, {})

    @pytest.mark.parametrize("scheme", ["Basic", "Token", "Api-Key", ""])
    def test_another_scheme_is_refused(self, team: Team, scheme: str) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER)[1]
        assert "Bearer" in refused({"authorization": f"{scheme} {key}"}, {}).message

    def test_the_prefix_alone_opens_nothing(self, team: Team) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER)[1]
        for wrong in (
            keys.beginning(key),
            key[:-1],
            key + "x",
            key[:-1] + ("a" if key[-1] != "a" else "b"),
        ):
            refused(bearer(wrong), {})

    def test_revoked(self, team: Team) -> None:
        row, key = keys.create_key(team, "ci", Role.MEMBER)
        keys.revoke(row)
        refused(bearer(key), {})

    def test_expired(self, team: Team) -> None:
        refused(bearer(keys.create_key(team, "ci", Role.MEMBER, expires=LONG_AGO)[1]), {})

    def test_not_yet_expired(self, team: Team) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER, expires=SOON)[1]
        assert resolve(bearer(key), {}).team == team

    def test_of_an_archived_team(self, team: Team) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER)[1]
        Team.objects.update(archived_at=LONG_AGO)
        refused(bearer(key), {})

    def test_use_is_noted_at_most_once_a_minute(
        self, team: Team, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        row, key = keys.create_key(team, "ci", Role.MEMBER)
        resolve(bearer(key), {})
        row.refresh_from_db()
        first = row.last_used_at
        assert first is not None
        with django_assert_num_queries(1):
            resolve(bearer(key), {})
        ApiKey.objects.update(last_used_at=first - timedelta(seconds=61))
        resolve(bearer(key), {})
        row.refresh_from_db()
        assert row.last_used_at is not None
        assert row.last_used_at >= first

    def test_of_two_requests_at_the_turn_of_a_minute_one_writes(self, team: Team) -> None:
        row, _ = keys.create_key(team, "ci", Role.MEMBER)
        late = ApiKey.objects.get(pk=row.pk)
        keys.touch(row)
        row.refresh_from_db()
        keys.touch(late)
        late.refresh_from_db()
        assert late.last_used_at == row.last_used_at

    def test_a_refused_key_is_not_noted_as_used(self, team: Team) -> None:
        row, key = keys.create_key(team, "ci", Role.MEMBER)
        refused(bearer(key + "x"), {})
        row.refresh_from_db()
        assert row.last_used_at is None


class TestHeaderAndCookie:
    def test_the_header_wins(self, alice: User, other_team: Team, sign_in: SignIn) -> None:
        key = keys.create_key(other_team, "ci", Role.VIEWER)[1]
        principal = resolve(bearer(key), sign_in(alice))
        assert (principal.team, principal.via_cookie) == (other_team, False)

    @pytest.mark.parametrize("header", ["", "Bearer nope", "Basic YTpi"])
    def test_a_bad_header_never_falls_back(self, alice: User, sign_in: SignIn, header: str) -> None:
        refused({"authorization": header}, sign_in(alice))

    def test_neither(self, db: None) -> None:
        assert "Authorization: Bearer" in refused({}, {}).message


class TestSessions:
    def test_a_person_speaks_for_their_team(self, alice: User, team: Team, sign_in: SignIn) -> None:
        principal = resolve({}, sign_in(alice))
        assert principal == Principal(
            "user", "alice", team, Role.OWNER, user_id=alice.pk, via_cookie=True
        )
        assert principal.label == "user:alice"

    def test_the_oldest_team_unless_the_session_chose(
        self, alice: User, team: Team, other_team: Team, sign_in: SignIn
    ) -> None:
        Membership.objects.create(user=alice, team=other_team, role=Role.VIEWER)
        assert resolve({}, sign_in(alice)).team == team
        chosen = resolve({}, sign_in(alice, team=str(other_team.pk)))
        assert (chosen.team, chosen.role) == (other_team, Role.VIEWER)

    @pytest.mark.parametrize("choice", ["", "None", "rubbish", "another"])
    def test_a_choice_that_is_not_theirs_counts_for_nothing(
        self, alice: User, team: Team, other_team: Team, sign_in: SignIn, choice: str
    ) -> None:
        choice = str(other_team.pk) if choice == "another" else choice
        assert resolve({}, sign_in(alice, team=choice)).team == team

    def test_an_archived_team_is_left_out(
        self, alice: User, team: Team, other_team: Team, sign_in: SignIn
    ) -> None:
        Membership.objects.create(user=alice, team=other_team)
        cookies = sign_in(alice, team=str(team.pk))
        Team.objects.filter(pk=team.pk).update(archived_at=LONG_AGO)
        assert resolve({}, cookies).team == other_team

    def test_somebody_in_no_team_is_told_whom_to_ask(self, alice: User, sign_in: SignIn) -> None:
        Membership.objects.all().delete()
        with pytest.raises(Forbidden, match=r"ask a team.s owner"):
            resolve({}, sign_in(alice))

    def test_an_inactive_person(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        User.objects.update(is_active=False)
        refused({}, cookies)

    def test_a_changed_password_ends_the_session(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        alice.set_password("another")
        alice.save()
        refused({}, cookies)
        assert Session.objects.count() == 1  # only Django's middleware may end it

    def test_a_signed_out_session(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        Session.objects.all().delete()
        refused({}, cookies)

    def test_an_expired_session(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        Session.objects.update(expire_date=LONG_AGO)
        refused({}, cookies)

    @pytest.mark.parametrize("cookie", ["", "short", "x" * 32, "\x00" * 32, "\xe9" * 32, "a b" * 9])
    def test_a_forged_cookie(self, alice: User, sign_in: SignIn, cookie: str) -> None:
        sign_in(alice)
        refused({}, {settings.SESSION_COOKIE_NAME: cookie})

    def test_another_persons_id_in_a_session(
        self, alice: User, charlie: User, sign_in: SignIn
    ) -> None:
        cookies = sign_in(alice, _auth_user_id=str(charlie.pk))
        refused({}, cookies)

    def test_a_session_without_a_hash(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        session = SessionStore(cookies[settings.SESSION_COOKIE_NAME])
        del session[HASH_SESSION_KEY]
        session.save()
        refused({}, cookies)

    def test_stored_data_that_was_tampered_with(self, alice: User, sign_in: SignIn) -> None:
        cookies = sign_in(alice)
        row = Session.objects.get()
        row.session_data = row.session_data[:-1] + ("a" if row.session_data[-1] != "a" else "b")
        row.save()
        refused({}, cookies)

    def test_a_rotated_secret_leaves_the_cookie_alone(
        self, alice: User, sign_in: SignIn, settings: Settings
    ) -> None:
        cookies = sign_in(alice)
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
        assert [resolve({}, cookies).name for _ in range(2)] == ["alice", "alice"]


class TestStillValid:
    def test_a_key_until_it_is_revoked(self, team: Team) -> None:
        row, key = keys.create_key(team, "ci", Role.MEMBER)
        principal = resolve(bearer(key), {})
        assert refreshed(principal) is not None
        keys.revoke(row)
        assert refreshed(principal) is None

    def test_a_key_until_it_expires(self, team: Team) -> None:
        principal = resolve(bearer(keys.create_key(team, "a", Role.MEMBER, expires=SOON)[1]), {})
        assert refreshed(principal) is not None
        ApiKey.objects.update(expiry_date=LONG_AGO)
        assert refreshed(principal) is None

    def test_a_key_until_it_is_deleted(self, team: Team) -> None:
        principal = resolve(bearer(keys.create_key(team, "ci", Role.MEMBER)[1]), {})
        ApiKey.objects.all().delete()
        assert refreshed(principal) is None

    def test_nobody_of_an_archived_team(self, alice: User, team: Team, sign_in: SignIn) -> None:
        key = keys.create_key(team, "ci", Role.MEMBER)[1]
        principals = [resolve(bearer(key), {}), resolve({}, sign_in(alice))]
        assert all(map(refreshed, principals))
        Team.objects.update(archived_at=LONG_AGO)
        assert not any(map(refreshed, principals))

    def test_a_person_until_they_leave_this_team(
        self, alice: User, team: Team, other_team: Team, sign_in: SignIn
    ) -> None:
        Membership.objects.create(user=alice, team=other_team)
        principal = resolve({}, sign_in(alice))
        assert refreshed(principal) is not None
        Membership.objects.for_team(team).delete()
        assert refreshed(principal) is None

    def test_a_person_until_they_are_deactivated(self, alice: User, sign_in: SignIn) -> None:
        principal = resolve({}, sign_in(alice))
        User.objects.update(is_active=False)
        assert refreshed(principal) is None

    def test_a_browser_until_it_is_signed_out(self, alice: User, sign_in: SignIn) -> None:
        here, there = resolve({}, sign_in(alice)), resolve({}, sign_in(alice))
        Session.objects.filter(pk=here.session_key).delete()
        assert [refreshed(here), refreshed(there)] == [None, there]

    def test_a_browser_until_the_password_changes(self, alice: User, sign_in: SignIn) -> None:
        principal = resolve({}, sign_in(alice))
        alice.set_password("another")
        alice.save()
        assert refreshed(principal) is None

    def test_nobody_by_a_kind_of_credential_that_is_not_known_here(self, team: Team) -> None:
        assert not refreshed(Principal("link", "x", team, Role.VIEWER))


class TestRefreshed:
    def test_a_person_with_the_role_of_today(self, alice: User, sign_in: SignIn) -> None:
        principal = resolve({}, sign_in(alice))
        Membership.objects.update(role=Role.VIEWER)
        now = refreshed(principal)
        assert now is not None
        assert (now.role, now.via_cookie, now.can("run")) == (Role.VIEWER, True, False)

    def test_a_key_with_the_scopes_of_today(self, team: Team) -> None:
        principal = resolve(bearer(keys.create_key(team, "ci", Role.OWNER)[1]), {})
        assert refreshed(principal) == principal
        ApiKey.objects.update(scopes=["ingest"])
        now = refreshed(principal)
        assert now is not None
        assert not now.can("view")
