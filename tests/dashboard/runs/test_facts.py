"""The facts of a run's page: relatives, who cancelled it, the reason of its wait, its figures."""

import re

from runs.lifecycle import lifecycle
from runs.models import Run, Visibility
from tests.cast import Actor, Cast, start
from tests.dashboard.conftest import Browse


def facts(browse: Browse, actor: Actor, run: Run) -> dict[str, str]:
    page = browse(actor).get(f"/runs/{run.pk}/").content.decode()
    rows = re.findall(r"<dt[^>]*>(.*?)</dt><dd[^>]*>(.*?)</dd>", page, re.DOTALL)
    return {name: re.sub(r"<[^>]+>", "", text).strip() for name, text in rows}


def test_relatives_lead_to_each_other(cast: Cast, browse: Browse) -> None:
    parent, child = start(cast.alice, threadId="parent"), start(cast.alice, threadId="child")
    Run.objects.filter(pk=child.pk).update(parent=parent, asked="Look it up.")
    Run.objects.filter(pk=parent.pk).update(asked="Research this.")
    assert facts(browse, cast.bob, parent)["Runs that it started"] == "echo: Look it up."
    assert facts(browse, cast.bob, child)["Parent run"] == "Research this."
    page = browse(cast.bob).get(f"/runs/{child.pk}/").content.decode()
    assert f'href="/runs/{parent.pk}/"' in page


def test_a_private_relative_is_not_shown(cast: Cast, browse: Browse) -> None:
    parent, child = start(cast.alice, threadId="hers"), start(cast.alice, threadId="child")
    Run.objects.filter(pk=child.pk).update(parent=parent)
    thread = parent.thread
    thread.visibility = Visibility.PRIVATE
    thread.save()
    assert facts(browse, cast.alice, parent)["Seen by"] == "private"
    assert "Parent run" in facts(browse, cast.alice, child)
    assert "Parent run" not in facts(browse, cast.bob, child)


def test_who_cancelled(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    lifecycle.cancel(run, cast.bob.principal)
    assert facts(browse, cast.vera, run)["Cancelled by"] == "bob"
    assert "Cancelled by" not in facts(browse, cast.vera, start(cast.alice))


def test_what_it_waits_for(cast: Cast, browse: Browse) -> None:
    first = start(cast.alice, threadId="one")
    second = start(cast.alice, threadId="one", onBusy="enqueue")
    Run.objects.filter(pk=first.pk).update(stamp=1)
    Run.objects.filter(pk=second.pk).update(stamp=None)
    assert facts(browse, cast.bob, first)["Waits for"] == "a free worker"
    assert facts(browse, cast.bob, second)["Waits for"] == "the run before it in this thread"
    page = browse(cast.bob).get(f"/runs/{second.pk}/").content.decode()
    assert f'<a href="/runs/{first.pk}/">the run before it' in page
    alone = start(cast.alice, threadId="two")
    Run.objects.filter(pk=alone.pk).update(stamp=None)
    assert facts(browse, cast.bob, alone)["Waits for"] == "its turn among the runs of the team"


def test_its_figures(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    lifecycle.cancel(run)
    models = [{"model": "small", "tokens_in": 1200, "tokens_out": 30, "cached": 0}]
    Run.objects.filter(pk=run.pk).update(
        ttft_ms=340, tokens_in=1200, tokens_out=30, by_model=models, cost=0.25
    )
    figures = facts(browse, cast.bob, run)
    assert figures["First piece"] == "340 ms"
    assert figures["Tokens in, out"] == "1,200, 30"
    assert (figures["Model"], figures["Cost"]) == ("small", "$0.2500")
