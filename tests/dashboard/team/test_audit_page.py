"""The page of the audit log: who may read it, its filters, and its pages."""

import re
from html import unescape

import pytest
from django.test import Client

from agui_host.dashboard.team import audit as audit_page
from agui_host.teams import audit
from tests.cast import Cast
from tests.dashboard.conftest import Browse

pytestmark = pytest.mark.django_db
ADDRESS = "/team/audit/"
TARGET = re.compile(r'data-label="Of"><a [^>]*><bdi>([^<]*)<')


def page(client: Client, query: str = "", status: int = 200) -> str:
    answer = client.get(f"{ADDRESS}{query}")
    assert answer.status_code == status, query
    return answer.content.decode()


def test_lines_are_filtered_and_paged(
    cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_page, "ROWS", 2)
    for number in range(5):
        audit.record(cast.bob.principal, cast.team, "key.revoked", f"k{number}", role="<b>")
    audit.record(cast.bob.principal, cast.other_team, "key.revoked", "foreign")
    client, targets = browse(cast.alice), []
    query = "?act=key.revoked"
    while query:
        text = page(client, query)
        assert "&lt;b&gt;" in text
        targets += TARGET.findall(text)
        older = re.search(r'href="(\?[^"]+)">Older lines', text)
        query = unescape(older[1]) if older else ""
    assert sorted(targets) == ["k0", "k1", "k2", "k3", "k4"]
    assert TARGET.findall(page(client, "?who=user:bob&target=k3")) == ["k3"]
    assert "No line passes" in page(client, "?since=2099-01-01")
    assert "/api/v1/audit.csv?action=key.revoked" in page(client, "?act=key.revoked")
    for odd in ("?since=soon", "?who=%00"):
        assert 'role="alert"' in page(client, odd, 422)
    page(client, "?before=x")


def test_no_line_shows_a_whole_id_or_code(cast: Cast, browse: Browse) -> None:
    key = "01a21ee0-3518-7dda-9248-3d7d1860333b"
    details = {"fields": ["at_limit", "max"], "by_key": key, "most": 3}
    audit.record(cast.bob.principal, cast.team, "budget.changed", key, **details)
    text = page(browse(cast.alice), "?act=budget.changed")
    assert TARGET.findall(text) == ["01a21ee0…"]
    assert f'href="?target={key}"' in text
    assert "fields: at_limit, max; by key: 01a21ee0…; most: 3" in text


def test_owners_and_admins_read_it(cast: Cast, browse: Browse) -> None:
    assert ADDRESS in browse(cast.alice).get("/team/").content.decode()
    for actor in (cast.bob, cast.vera):
        page(browse(actor), status=403)
        assert ADDRESS not in browse(actor).get("/team/").content.decode()
