"""``manage.py seed_demo --nasty``: runs whose logs are whole, in a team that need not be new."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.access import sharing
from runs.models import Feedback, Interrupt, InterruptStatus, Mention, Run, Status
from runs.seed import nasty
from tests.cast import Cast, log_of, types_of


def seed(team: str) -> list[str]:
    out = StringIO()
    call_command("seed_demo", "--nasty", "--team", team, stdout=out)
    return out.getvalue().splitlines()


def test_every_run_ends_as_it_says(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nasty, "LONG", 1500)
    assert len(seed("acme")) == len(seed("acme"))  # a second time, too
    runs = Run.objects.filter(team=cast.team)
    assert set(runs.values_list("status", flat=True)) == {
        Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.INTERRUPTED,
    }  # fmt: skip
    assert not Run.objects.filter(team=cast.other_team).exists()
    for run in runs:
        types = types_of(run)
        assert types[0] == "RUN_STARTED"
        assert types[-1] == ("RUN_ERROR" if run.status == Status.FAILED else "RUN_FINISHED")
        times = [event["timestamp"] for event in log_of(run)]
        assert times == sorted(times)
        assert run.started_at
        assert run.ended_at
        began, ended = (int(at.timestamp() * 1000) for at in (run.started_at, run.ended_at))
        assert began <= times[0] <= times[-1] <= ended
    statuses = Interrupt.objects.filter(team=cast.team).values_list("status", flat=True)
    assert sorted(statuses) == [InterruptStatus.EXPIRED] * 2 + [InterruptStatus.OPEN] * 9
    crowd = runs.filter(agent__slug="research").order_by("pk").first()
    assert crowd
    assert types_of(crowd).count("SUBAGENT_STARTED") == nasty.DEPTH
    assert set(Feedback.objects.filter(team=cast.team).values_list("thumb", flat=True)) == {
        "up", "down",
    }  # fmt: skip
    assert Mention.objects.filter(team=cast.team, user=cast.alice.user).exists()
    assert sharing.received(cast.bob.principal).count() == 4


def test_a_team_that_is_not_there(cast: Cast) -> None:
    with pytest.raises(CommandError, match="There is no team nowhere"):
        seed("nowhere")
