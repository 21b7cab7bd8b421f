"""The operators' pages: limits, accounts and second factors of every team."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User

from agui_host.teams.models import AuditEntry, TeamLimits
from tests.asgi import ask_now
from tests.cast import Cast
from tests.dashboard.conftest import SURE, Browse

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operator(cast: Cast, browse: Browse) -> Any:
    User.objects.filter(pk=cast.alice.user.pk).update(is_superuser=True, is_staff=True)
    return browse(cast.alice)


def test_a_teams_limits_are_set(cast: Cast, operator: Any) -> None:
    assert cast.other_team.slug in operator.get("/operator/").content.decode()
    place = f"/operator/teams/{cast.other_team.slug}/"
    assert operator.get(place).status_code == 200
    assert operator.post(place, {"queued_runs": "-1"}).status_code == 422
    assert operator.post(place, {"queued_runs": "7"}).status_code == 302
    assert TeamLimits.objects.get(team=cast.other_team).queued_runs == 7
    line = AuditEntry.objects.for_team(cast.other_team).get(action="admin.changed")
    assert (line.who, "queued_runs" in line.details) == ("user:alice", True)


def test_an_account_is_closed_and_opened(cast: Cast, operator: Any) -> None:
    place = f"/operator/people/{cast.bob.user.pk}"
    assert "Close this account?" in operator.post(f"{place}/close").content.decode()
    assert ask_now("GET", "/api/v1/runs", cast.bob.cookie).status == 200
    operator.post(f"{place}/close", SURE)
    assert ask_now("GET", "/api/v1/runs", cast.bob.cookie).status == 401
    assert not User.objects.get(pk=cast.bob.user.pk).is_active
    operator.post(f"{place}/open", SURE)
    assert User.objects.get(pk=cast.bob.user.pk).is_active
    acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="account.")
    assert sorted(acts.values_list("action", flat=True)) == ["account.closed", "account.opened"]
    own = operator.post(f"/operator/people/{cast.alice.user.pk}/close", SURE)
    assert own.status_code == 409


def test_lost_factors_are_forgotten(cast: Cast, operator: Any) -> None:
    Authenticator.objects.create(user=cast.bob.user, type="totp", data={"secret": "x"})
    assert "Forget factors" in operator.get("/operator/?q=bob").content.decode()
    operator.post(f"/operator/people/{cast.bob.user.pk}/forget-factors", SURE)
    assert not Authenticator.objects.filter(user=cast.bob.user).exists()


def test_for_others_there_is_no_such_page(cast: Cast, browse: Browse) -> None:
    client = browse(cast.bob)
    for place in ("/operator/", f"/operator/teams/{cast.team.slug}/"):
        assert client.get(place).status_code == 404
    answer = client.post(f"/operator/people/{cast.alice.user.pk}/close", SURE)
    assert answer.status_code == 404
    assert User.objects.get(pk=cast.alice.user.pk).is_active
