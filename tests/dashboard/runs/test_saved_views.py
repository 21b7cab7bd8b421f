"""Saved views: who has one, who changes it, and the list that opens with it."""

import re

import pytest
from django.db import IntegrityError, transaction

from agui_host.teams.access import members
from agui_host.teams.models import AuditEntry, Membership
from runs.access.inspect import saved_views
from runs.models import SavedView
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse

QUERY = "status=failed&agent=echo&columns=thread%2Cerror"


def save(browser: object, name: str, **fields: str) -> str:
    answer = browser.post("/runs/views", {"name": name, "query": QUERY, **fields}, follow=True)  # type: ignore[attr-defined]
    assert answer.status_code == 200
    return str(answer.content.decode())


def views(page: str) -> list[str]:
    bar = re.search(r'aria-label="Saved views">(.*?)</nav>', page)
    return re.findall(r"<bdi>(.*?)</bdi>", bar[1]) if bar else []


class TestOnTheList:
    def test_a_view_keeps_filters_and_columns_and_is_only_ones_own(
        self, cast: Cast, browse: Browse
    ) -> None:
        page = save(browse(cast.alice), "  <b>broken</b>  ", anything="else")
        assert views(page) == ["&lt;b&gt;broken&lt;/b&gt;"]
        assert 'aria-current="page"><bdi>&lt;b&gt;broken' in page
        assert SavedView.objects.get().query == QUERY
        assert views(browse(cast.bob).get("/runs/").content.decode()) == []
        assert not AuditEntry.objects.filter(action="view.created").exists()

    def test_a_view_of_the_team_is_removed_by_its_author_or_a_manager(
        self, cast: Cast, browse: Browse
    ) -> None:
        save(browse(cast.bob), "failures", shared="yes")
        save(browse(cast.bob), "slow", shared="yes")
        failures, slow = SavedView.objects.order_by("pk")
        assert views(browse(cast.vera).get("/runs/").content.decode()) == ["failures", "slow"]
        assert browse(cast.vera).post(f"/runs/views/{slow.pk}/remove", SURE).status_code == 403
        assert browse(cast.charlie).post(f"/runs/views/{slow.pk}/remove", SURE).status_code == 404
        assert browse(cast.bob).post(f"/runs/views/{slow.pk}/remove", SURE).status_code == 302
        assert browse(cast.alice).post(f"/runs/views/{failures.pk}/remove", SURE).status_code == 302
        acts = AuditEntry.objects.filter(action__startswith="view.").order_by("pk")
        assert [(act.action, act.who) for act in acts] == [
            ("view.created", "user:bob"), ("view.created", "user:bob"),
            ("view.deleted", "user:bob"), ("view.deleted", "user:alice"),
        ]  # fmt: skip

    def test_renaming_says_what_is_wrong(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.alice)
        save(browser, "one")
        assert "Another view has this name." in save(browser, "one")
        save(browser, "two")
        view = SavedView.objects.get(name="two")
        for name, answer in {"one": "Another view", "": "needs a name", "n" * 61: "60"}.items():
            page = browser.post(f"/runs/views/{view.pk}/rename", {"name": name}, follow=True)
            assert answer in page.content.decode()
        browser.post(f"/runs/views/{view.pk}/rename", {"name": "three"})
        assert SavedView.objects.get(pk=view.pk).name == "three"

    def test_a_viewer_saves_for_themselves_only(self, cast: Cast, browse: Browse) -> None:
        assert views(save(browse(cast.vera), "mine")) == ["mine"]
        answer = browse(cast.vera).post("/runs/views", {"name": "all", "shared": "yes"})
        assert answer.status_code == 403


class TestRules:
    def test_the_database_refuses_a_name_twice(self, cast: Cast) -> None:
        for shared in (True, False):
            fields = {"team": cast.team, "name": "n", "creator": "user:1", "shared": shared}
            SavedView.objects.create(**fields)
            with pytest.raises(IntegrityError), transaction.atomic():
                SavedView.objects.create(**fields)

    def test_there_are_at_most_a_hundred(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(saved_views, "MOST", 1)
        saved_views.create(cast.alice.principal, {"name": "a"})
        saved_views.create(cast.alice.principal, {"name": "a", "shared": True})
        with pytest.raises(saved_views.ViewsFull):
            saved_views.create(cast.alice.principal, {"name": "b"})

    def test_a_leavers_own_views_go_and_the_teams_stay(self, cast: Cast) -> None:
        saved_views.create(cast.bob.principal, {"name": "own"})
        saved_views.create(cast.bob.principal, {"name": "team", "shared": True})
        member = Membership.objects.get(team=cast.team, user=cast.bob.user)
        members.remove(cast.alice.principal, member.pk)
        assert [view.name for view in SavedView.objects.for_team(cast.team)] == ["team"]


def heads(page: str) -> list[str]:
    """The names of the table's columns, some of which are links that sort by them."""
    return re.findall(r'<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]+)<', page)


class TestColumns:
    def test_the_address_chooses_them(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice, runId="client-run")
        run.thread.tags, run.thread.title = ["vip"], "Order 7"
        run.thread.save()
        browser = browse(cast.vera)
        page = browser.get("/runs/").content.decode()
        assert heads(page) == [
            "Status", "Agent and question", "Started by", "Events", "Cost", "Duration", "Started"
        ]  # fmt: skip
        query = "columns=title&columns=tags,run&columns=findings,tokens,bytes,waited,error,nonsense"
        page = browser.get(f"/runs/?{query}").content.decode()
        assert heads(page)[2:-1] == [
            "Title", "Tags", "Run id", "Error", "Findings", "Size", "Tokens", "Waited"
        ]  # fmt: skip
        for text in ("Order 7", "vip", "client-run"):
            assert text in page
        assert 'name="columns" value="title,tags,run,error,findings,bytes,tokens,waited"' in page

    def test_tokens_are_added_up_however_they_are_counted(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        for usage, tokens in {
            '[{"inputTokens": 5, "outputTokens": 7}, {"totalTokens": 30}]': "42",
            '[{"inputTokens": "x"}]': "",
            "7": "",
        }.items():
            type(run).objects.filter(pk=run.pk).update(usage=usage)
            page = browse(cast.alice).get("/runs/?columns=tokens").content.decode()
            assert re.search(r'data-label="tokens">\s*(\d*)\s*</td>', page)[1] == tokens  # type: ignore[index]
