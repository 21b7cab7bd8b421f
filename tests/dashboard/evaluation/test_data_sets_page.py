"""The pages of data sets: made, filled, reviewed, run again, exported and deleted."""

import json

import pytest

from runs.access.evaluation import labels
from runs.models import DataSet, RunLabel, Trial
from tests.cast import Cast
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


@pytest.mark.parametrize("name", ["", "a" * 121, "\x00", "   "])
def test_a_wrong_name_comes_back_with_its_fault(cast: Cast, browse: Browse, name: str) -> None:
    answer = browse(cast.alice).post("/datasets/", {"name": name})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
