"""A compiled queryset answers like the queryset, for each value, and is built once."""

from uuid import UUID, uuid4

import pytest
from django.db.models import Exists, OuterRef, QuerySet
from pytest_django import DjangoAssertNumQueries

from agui_host.backends.postgres.compiled import Compiled
from runs.models import Run
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db


def test_it_answers_like_the_queryset_that_it_was_made_of(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    built: list[UUID] = []

    def rows(team: UUID, pk: UUID) -> QuerySet[Run]:
        built.append(pk)
        others = Run.objects.of_one_thread().filter(thread=OuterRef("thread"))
        mine = Run.objects.filter(team=team, pk=pk).select_related("thread__history", "agent")
        return mine.annotate(has_others=Exists(others.exclude(pk=OuterRef("pk"))))

    runs = [start(cast.alice, threadId=thread, onBusy="enqueue") for thread in ("t", "t", "u")]
    compiled = Compiled(rows, uuid4(), uuid4())
    for run, has_others in zip(runs, (True, True, False), strict=True):
        with django_assert_num_queries(1):
            same = compiled.first(run.team_id, run.pk)
            assert same is not None
            assert (same.pk, same.thread.thread_id) == (run.pk, run.thread.thread_id)
            assert (same.agent.slug, same.agent.settings) == (run.agent.slug, {})
            assert (vars(same)["has_others"], hasattr(same.thread, "history")) == (
                has_others,
                False,
            )
    assert compiled.first(cast.charlie.team.pk, runs[0].pk) is None
    assert len(built) == 1


def test_it_is_a_part_of_other_queries(cast: Cast) -> None:
    run, other = start(cast.alice), start(cast.charlie)
    compiled = Compiled(lambda team: Run.objects.filter(team=team).only("pk"), uuid4())
    for each in (run, other):
        rows = Run.objects.of_any_team().filter(pk__in=compiled.within(each.team_id))
        assert list(rows) == [each]
    nothing = Compiled(lambda team: Run.objects.none(), uuid4())
    assert not Run.objects.of_any_team().filter(pk__in=nothing.within(run.team_id)).exists()


def test_a_value_that_the_query_does_not_send_is_refused() -> None:
    with pytest.raises(ValueError, match="stand-in"):
        Compiled(lambda pk: Run.objects.already_found(), uuid4())


def test_a_value_that_is_also_a_part_of_another_is_refused() -> None:
    def rows(name: str) -> QuerySet[Run]:
        return Run.objects.already_found().filter(run_id=name).exclude(run_id=f"{name}-2")

    with pytest.raises(ValueError, match="stand-in"):
        Compiled(rows, "a name")
