"""The team's own page: admins change its name and time zone, owners its rules."""

import pytest

from agui_host.teams.models import AuditEntry, Membership, Role
from tests.cast import Cast
from tests.dashboard.conftest import Browse

PLACE = "/team/settings/"


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
def test_name_and_zone(cast: Cast, browse: Browse, role: Role) -> None:
    Membership.objects.filter(user=cast.alice.user).update(role=role)
    browser = browse(cast.alice)
    page = browser.get(PLACE).content.decode()
    assert '<option value="UTC" selected>UTC</option>' in page
    assert ("Team rules" in page) is (role == Role.OWNER)
    form = {"name": "Acme <b>", "time_zone": "Europe/Berlin"}
    assert browser.post(PLACE, form)["Location"] == PLACE
    page = browser.get(PLACE).content.decode()
    assert "Acme &lt;b&gt;" in page
    assert '<option value="Europe/Berlin" selected>' in page
    acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="team.")
    assert {(line.action, line.who) for line in acts} == {
        ("team.renamed", "user:alice"), ("team.time_zone", "user:alice"),
    }  # fmt: skip
    browser.post(PLACE, form)
    assert acts.count() == 2, "nothing was changed"
    new = browser.get("/team/schedules/").content.decode()
    assert 'value="Europe/Berlin"' in new


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": "x" * 121}, {"time_zone": "Mars"}, {"time_zone": ""}]
)
def test_what_is_wrong_is_said(cast: Cast, browse: Browse, wrong: dict[str, str]) -> None:
    answer = browse(cast.alice).post(PLACE, {"name": "A", "time_zone": "UTC"} | wrong)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    cast.team.refresh_from_db()
    assert (cast.team.name, cast.team.time_zone) == ("Acme", "UTC")


def test_members_only_read_it(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.bob)
    page = browser.get(PLACE).content.decode()
    assert "Owners and admins change them" in page
    assert "<select" not in page
    assert browser.post(PLACE, {"name": "Bobs", "time_zone": "UTC"}).status_code == 403
    cast.team.refresh_from_db()
    assert cast.team.name == "Acme"
