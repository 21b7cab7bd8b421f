"""An agent's runs are for the workers that serve its queue."""

import pytest
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from runs.management.commands.run_worker import Command
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Cast, Register, start
from tests.runs.jobs import a_worker, taken_by

pytestmark = pytest.mark.django_db(transaction=True)


def taken(*queues: str) -> list[Run]:
    """The runs that a worker takes, as ``run_worker --queues`` has it."""
    return taken_by(a_worker(*queues), *queues)


def test_workers_take_the_runs_of_their_queues(cast: Cast, register: Register) -> None:
    gpu = register("heavy", lambda ctx: "", queue="gpu")
    plain, heavy, third = start(cast.alice), start(cast.alice, gpu), start(cast.alice, gpu)
    assert taken("default") == [plain]
    assert taken("gpu", "default") == [heavy, third]


def test_a_queue_is_set_over_the_api_and_in_code(cast: Cast) -> None:
    url = "/api/v1/agents/echo"
    assert ask_now("GET", url, cast.alice.headers).json["queue"] == "default"
    changed = ask_now("PATCH", url, cast.alice.headers, json={"queue": "gpu-2"})
    assert changed.json["queue"] == "gpu-2"
    run = start(cast.alice)
    assert taken("default") == []
    assert taken("gpu-2") == [run]
    for name in ("", "GPU", "a b", "-"):
        refused = ask_now("PATCH", url, cast.alice.headers, json={"queue": name})
        assert refused.status == 422, name
        with pytest.raises(IntegrityError), transaction.atomic():
            Agent.objects.filter(pk=cast.echo.pk).update(queue=name)
    registry.agent("code", queue="gpu")(lambda ctx: "")
    rows = {row.slug: row.queue for row in registry.provision(cast.team)}
    assert rows["code"] == "gpu"


def test_which_queues_a_worker_serves() -> None:
    parser = Command().create_parser("manage.py", "run_worker")
    assert parser.parse_args([]).queues == ["default"]
    assert parser.parse_args(["--queues", "gpu, default,gpu"]).queues == ["gpu", "default"]
    for wrong in ("", "GPU", "gpu;cpu"):
        with pytest.raises((CommandError, SystemExit)):
            parser.parse_args(["--queues", wrong])
