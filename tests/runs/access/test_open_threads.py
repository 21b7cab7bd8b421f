"""Who sees a thread without a grant: a row, both forms of a query and the trigger agree."""

from typing import Any

import pytest
from django.db.models import F, OuterRef, Subquery

from runs.access import access
from runs.models import Run, Thread, Visibility, Webhook, WebhookDelivery
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("by_reader", [True, False])
@pytest.mark.parametrize("visibility", list(Visibility))
def test_a_thread_is_open_to(cast: Cast, visibility: Visibility, by_reader: bool) -> None:
    reader = cast.bob.principal
    run = start(cast.bob if by_reader else cast.alice)
    Thread.objects.filter(pk=run.thread_id).update(visibility=visibility)
    expected = visibility == Visibility.TEAM or by_reader
    own = Thread.objects.filter(pk=OuterRef("thread_id"))

    def by_row(name: str) -> Any:
        return Subquery(own.values(name))

    def by_join(name: str) -> Any:
        return F(f"thread__{name}")

    Webhook.objects.create(
        team=cast.team, url="https://example.com/", events=["run.started"],
        created_by="user:bob", creator=reader.actor_id,
    )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(status="running")
    assert {
        access.is_own(reader, Thread.objects.get(pk=run.thread_id)),
        Thread.objects.filter(access.open_to(reader.actor_id)).exists(),
        Run.objects.filter(access.open_to(reader.actor_id, by_row)).exists(),
        Run.objects.filter(access.open_to(reader.actor_id, by_join)).exists(),
        access.visible(reader).exists(),
        access.visible_threads(reader).exists(),
        WebhookDelivery.objects.exists(),
    } == {expected}
