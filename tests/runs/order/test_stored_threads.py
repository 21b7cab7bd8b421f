"""Threads that were stored before they noted their newest run."""

from importlib import import_module

import pytest
from django.db import connection

from runs.models import Thread
from tests.cast import Cast
from tests.runs.order.test_order import two_turns

pytestmark = pytest.mark.django_db


def test_the_migration_notes_the_newest_runs(cast: Cast) -> None:
    _, last = two_turns(cast)
    Thread.objects.update(newest=None)
    empty = Thread.objects.create(team=cast.team, thread_id="without runs")
    migration = import_module("runs.migrations.0034_newest_run")
    with connection.schema_editor() as editor:
        migration.set_newest(None, editor)
    assert Thread.objects.get(thread_id="t").newest == last.pk
    assert Thread.objects.get(pk=empty.pk).newest is None
