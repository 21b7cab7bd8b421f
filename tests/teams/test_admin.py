"""The operators' pages: a key is seen once, a hash never."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework_api_key.models import APIKey

from agui_host.teams import keys, limits
from agui_host.teams.limits import limits_of
from agui_host.teams.models import ApiKey, AuditEntry, Role, Team

KEYS = "/admin/teams/apikey/"


@pytest.fixture
def browser(alice: User, settings: Settings, tmp_path: Path) -> Client:
    settings.STATIC_ROOT = tmp_path  # WhiteNoise warns when nothing was collected
    alice.is_staff = alice.is_superuser = True
    alice.save()
    client = Client()
    client.force_login(alice)
    return client


def test_a_new_key_is_shown_once_and_works(browser: Client, alice: User, team: Team) -> None:
    form = {"team": str(team.pk), "name": "ci", "role": "viewer", "scopes": ["read"]}
    page = browser.post(f"{KEYS}add/", form, follow=True).content.decode()
    key_text = re.search(r"agui_[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}", page)
    assert key_text
    row = keys.find(key_text.group())
    assert row is not None
    assert (row.role, row.created_by) == ("viewer", None)
    assert key_text.group() not in browser.get(KEYS).content.decode()


def test_no_page_shows_a_hash(browser: Client, team: Team) -> None:
    row, key = keys.create_key(team, "ci", Role.MEMBER)
    for address in (KEYS, f"{KEYS}{row.pk}/change/", f"/admin/teams/team/{team.pk}/change/"):
        answer = browser.get(address)
        assert answer.status_code == 200
        page = answer.content.decode()
        assert "sha512" not in page
        assert row.hashed_key[-20:] not in page
        assert key not in page


def test_a_revoked_key_cannot_be_brought_back(browser: Client, team: Team) -> None:
    row, _ = keys.create_key(team, "ci", Role.MEMBER)
    change = f"{KEYS}{row.pk}/change/"
    browser.post(change, {"name": "ci", "role": "member", "scopes": "read", "revoked": "on"})
    browser.post(change, {"name": "renamed", "role": "owner"})
    row = ApiKey.objects.get(pk=row.pk)
    assert (row.revoked, row.name, row.role) == (True, "ci", "member")


def test_a_key_cannot_change_its_team(browser: Client, team: Team, other_team: Team) -> None:
    row, _ = keys.create_key(team, "ci", Role.MEMBER)
    form = {"team": str(other_team.pk), "name": "renamed", "role": "member", "scopes": "read"}
    browser.post(f"{KEYS}{row.pk}/change/", form)
    row = ApiKey.objects.get(pk=row.pk)
    assert (row.team, row.name) == (team, "renamed")


def test_lists_can_be_searched(browser: Client, bob: User, charlie: User) -> None:
    page = browser.get("/admin/teams/membership/?q=bob").content.decode()
    assert "Acme" in page
    assert "Globex" not in page
    page = browser.get("/admin/teams/team/?q=glo").content.decode()
    assert "Globex" in page
    assert re.search(r'field-members">1<', page)
    assert browser.get(f"{KEYS}?q=nothing").status_code == 200


def test_the_librarys_keys_are_not_offered() -> None:
    assert not site.is_registered(APIKey)


def test_what_operators_do_is_in_the_teams_log(browser: Client, team: Team) -> None:
    form = {"team": str(team.pk), "name": "ci", "role": "viewer", "scopes": ["read"]}
    browser.post(f"{KEYS}add/", form)
    row = ApiKey.objects.get()
    browser.post(
        f"{KEYS}{row.pk}/change/",
        {"name": "ci", "role": "viewer", "scopes": "read", "revoked": "on"},
    )
    browser.post(f"{KEYS}{row.pk}/delete/", {"post": "yes"})
    lines = AuditEntry.objects.for_team(team).filter(target=f"apikey:{row.pk}").order_by("id")
    entries = [(line.action, json.loads(line.details)) for line in lines]
    assert entries == [
        ("admin.added", {}),
        ("admin.changed", {"fields": ["Revoked"]}),
        ("admin.deleted", {}),
    ]
    assert {line.who for line in lines} == {"user:alice"}


def test_a_team_is_not_deleted_here(browser: Client, team: Team) -> None:
    answer = browser.post(f"/admin/teams/team/{team.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 403


def test_operators_give_a_team_its_own_limits(browser: Client, team: Team) -> None:
    address = f"/admin/teams/team/{team.pk}/change/"
    page = browser.get(address).content.decode()
    counters = dict(re.findall(r'name="([\w-]*-(?:TOTAL|INITIAL)_FORMS)" value="(\d+)"', page))
    form = {"name": team.name, "slug": team.slug, **counters, "limits-TOTAL_FORMS": "1"}
    form |= {"limits-0-team": str(team.pk), "limits-0-concurrent_runs": "3"}
    for name in [key.removesuffix("-TOTAL_FORMS") for key in counters if "TOTAL" in key]:
        if name != "limits":
            form[f"{name}-TOTAL_FORMS"] = form[f"{name}-INITIAL_FORMS"] = "0"
    assert browser.post(address, form).status_code == 302
    assert limits_of(team).concurrent_runs == 3
    assert limits_of(team).queued_runs == limits.default("queued_runs")
    assert AuditEntry.objects.for_team(team).filter(action="admin.changed").exists()
