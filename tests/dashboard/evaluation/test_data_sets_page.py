"""The pages of data sets: made, filled, reviewed, run again, exported and deleted."""

import json

import pytest

from agui_host.dashboard.thread import turns
from runs.access.evaluation import data_sets, labels
from runs.access.inspect import saved_views
from runs.api.evaluation import viewed
from runs.models import DataSet, DataSetRun, RunLabel, Thread, Trial
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse
from tests.runs.evaluation.test_evaluation import ended

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_data_set_from_its_making_to_its_end(cast: Cast, browse: Browse) -> None:
    run, other = ended(cast.alice, "<b>Refund"), ended(cast.alice, "Hello")
    labels.replace(cast.alice.principal, run.pk, ["refund"])
    member, viewer = browse(cast.bob), browse(cast.vera)
    assert member.post("/datasets/", {"name": "<i>Set"}).status_code == 302
    row = DataSet.objects.for_team(cast.team).get()
    page = f"/datasets/{row.pk}/"
    member.post(f"{page}add", {"most": "5", "label": "refund"})
    text = member.get(page).content.decode()
    assert "&lt;b&gt;Refund" in text
    assert "1 run was added" in text
    member.post(f"{page}add", {"most": "5", "agent": "echo"})
    assert "Hello" in viewer.get(page).content.decode()
    assert "<form" not in viewer.get(page).content.decode().split("<main")[1]
    verdict = {"run": str(run.pk), "label": "bad", "show": "review"}
    assert member.post(f"{page}label", verdict).headers["location"] == f"{page}?show=review"
    names = RunLabel.objects.for_team(cast.team).filter(run=run).values_list("name", flat=True)
    assert set(names) == {"bad", "refund"}
    queue = member.get(f"{page}?show=review").content.decode()
    assert "Hello" in queue
    assert "Refund" not in queue.split("<table")[1]
    assert member.post(f"{page}try", {"agent": "echo"}).status_code == 302
    trial = Trial.objects.for_team(cast.team).get()
    compared = viewer.get(f"/trials/{trial.pk}/").content.decode()
    assert "&lt;b&gt;Refund" in compared
    assert f"?with={run.pk}" in compared
    lines = viewer.get(f"{page}export?form=langfuse").content.splitlines()
    assert {json.loads(line)["id"] for line in lines} == {str(run.pk), str(other.pk)}
    for address in ("add", "label", "try", "remove"):
        fields = {**verdict, "most": "1", "agent": "echo", **SURE}
        assert viewer.post(page + address, fields).status_code == 403, address
        assert browse(cast.charlie).post(page + address, fields).status_code == 404, address
    assert "Delete this data set?" in member.post(f"{page}remove").content.decode()
    assert member.post(f"{page}remove", SURE).status_code == 302
    assert not DataSet.objects.for_team(cast.team).exists()


def test_labels_are_set_where_one_reads(cast: Cast, browse: Browse) -> None:
    run = ended(cast.alice, "Refund")
    member, viewer = browse(cast.bob), browse(cast.vera)
    pages = {"": f"/runs/{run.pk}/", "thread": f"/threads/{run.thread_id}/"}
    for place, address in pages.items():
        text = member.get(address).content.decode()
        assert f'action="/runs/{run.pk}/label"' in text, address
        for fields in ({"label": "good"}, {"label": "bad"}, {"label": "<i>odd"}):
            answer = member.post(f"/runs/{run.pk}/label", {**fields, "page": place})
            assert answer.headers["location"].partition("#")[0] == address
        for reader in (member, viewer):
            text = reader.get(address).content.decode()
            assert "&lt;i&gt;odd" in text, address
            assert ("New label" in text) == (reader is member)
        assert 'name="off" value="bad" aria-pressed="true"' in member.get(address).content.decode()
        for name in ("bad", "<i>odd"):
            member.post(f"/runs/{run.pk}/label", {"off": name})
        assert not RunLabel.objects.for_team(cast.team).exists()
    assert viewer.post(f"/runs/{run.pk}/label", {"label": "good"}).status_code == 403
    assert member.post(f"/runs/{run.pk}/label", {"label": "x" * 41}).status_code == 422
    assert browse(cast.charlie).post(f"/runs/{run.pk}/label", {"label": "x"}).status_code == 404


def test_an_open_conversation_gets_new_labels(cast: Cast) -> None:
    run = ended(cast.alice, "Refund")
    before = turns.stamps(cast.bob.principal, [run])
    labels.add(cast.alice.principal, run.pk, "refund")
    after = turns.stamps(cast.bob.principal, [run])
    assert before != after
    [turn] = turns.made(cast.bob.principal, [run], 1)
    assert turn.stamp == after[run.pk]


def test_a_saved_view_becomes_a_data_set(
    cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [ended(cast.alice, f"Refund {number}") for number in range(4)]
    Thread.objects.filter(pk=runs[0].thread_id).update(tags=["vip"])
    Thread.objects.filter(pk=runs[1].thread_id).update(
        tags=["vip"], visibility="private", creator=cast.alice.principal.actor_id
    )
    start(cast.alice, threadId="queued")
    page = f"/datasets/{data_sets.create(cast.alice.principal, 'Set').pk}/"
    client = browse(cast.alice)

    def added(query: str, most: int = 20) -> set[str]:
        DataSetRun.objects.for_team(cast.team).delete()
        view = saved_views.create(cast.alice.principal, {"name": query[:60], "query": query})
        answer = client.post(f"{page}add", {"most": str(most), "view": str(view.pk)})
        assert answer.status_code == 302, answer.content
        rows = DataSetRun.objects.for_team(cast.team).values_list("run__asked", flat=True)
        return set(rows)

    assert "Or of a saved view" in client.get(page).content.decode()
    assert added("tag=vip") == {"Refund 0"}, "others do not see the private one"
    assert added("agent=echo", most=2) == {"Refund 3", "Refund 2"}
    assert added("since=1h&status=succeeded") == {"Refund 0", "Refund 2", "Refund 3"}
    assert added("status=failed") == set()
    monkeypatch.setattr(viewed, "LOOKED_AT", 2)  # of these the newest has not ended
    assert added("columns=cost") == {"Refund 3"}
    mine = saved_views.create(cast.bob.principal, {"name": "Bob's", "query": ""})
    assert client.post(f"{page}add", {"most": "9", "view": str(mine.pk)}).status_code == 422


@pytest.mark.parametrize("name", ["", "a" * 121, "\x00", "   "])
def test_a_wrong_name_comes_back_with_its_fault(cast: Cast, browse: Browse, name: str) -> None:
    answer = browse(cast.alice).post("/datasets/", {"name": name})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
