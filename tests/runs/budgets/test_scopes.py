"""A budget of each scope over the API: from its making, over its limit, to its end."""

from typing import Any

import pytest

from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import HOST, ask_now
from tests.cast import Actor, Cast
from tests.runs.budgets.test_budgets import LIST, RUNS
from tests.runs.jobs import FINISHED

pytestmark = pytest.mark.django_db(transaction=True)
USAGE = [{"model": "m", "inputTokens": 10, "outputTokens": 2}]


def begin(actor: Actor, by: str, thread: str = "t", agent: str = "echo") -> Any:
    body = {"agent": agent, "input": {"threadId": thread}}
    headers = {"origin": f"http://{HOST}", **getattr(actor, by)}
    return ask_now("POST", RUNS, headers, json=body)


def end(run_id: str) -> None:
    lifecycle.claim(Run.objects.of_any_team().get(pk=run_id).pk)
    lifecycle.finish(Run.objects.of_any_team().get(pk=run_id).pk, FINISHED | {"usage": USAGE})


@pytest.mark.parametrize("at_limit", ["end", "ask"])
@pytest.mark.parametrize(
    ("scope", "name", "by"),
    [
        ("agent", lambda cast, run: "echo", "cookie"),
        ("agent", lambda cast, run: str(cast.echo.pk), "headers"),
        ("team", lambda cast, run: None, "cookie"),
        ("person", lambda cast, run: "bob", "cookie"),
        ("thread", lambda cast, run: "t", "cookie"),
        ("run", lambda cast, run: run, "cookie"),
        ("key", lambda cast, run: cast.bob.key_prefix, "headers"),
    ],
)  # fmt: skip
def test_a_budget_of_each_scope(cast: Cast, scope: str, name: Any, by: str, at_limit: str) -> None:
    most = 30 if scope in ("agent", "team") else 20
    first = begin(cast.bob, by).json["id"]
    end(first)
    of = name(cast, first)
    body = {"scope": scope, "period": "month", "at_limit": at_limit} | ({"of": of} if of else {})
    made = ask_now("POST", LIST, cast.alice.headers, json=body | {"tokens": most})
    assert (made.status, made.json["used"], made.json["max"]) == (201, 12, most), made.json
    url = f"{LIST}/{made.json['id']}"
    fields = ("scope", "used", "max", "period", "at_limit", "state")
    budget = ask_now("GET", url, cast.vera.headers).json
    assert [budget[field] for field in fields] == [scope, 12, most, "month", at_limit, "ok"]
    end(begin(cast.alice, by, thread="other", agent="echo").json["id"])  # of another's
    second = begin(cast.bob, by)
    assert second.status == 202, second.json
    end(second.json["id"])
    used = ask_now("GET", url, cast.vera.headers).json["used"]
    assert used == {"agent": 36, "team": 36, "run": 12}.get(scope, 24)
    third = begin(cast.bob, by)
    if scope != "run" and at_limit == "end":
        assert (third.status, third.code) == (429, "budget_exceeded")
        assert third.json["error"]["details"] == {"budget": made.json["id"]}
    else:
        assert third.status == 202
        lifecycle.cancel(Run.objects.of_any_team().get(pk=third.json["id"]))
    assert begin(cast.charlie, by).status == 202
    assert ask_now("PATCH", url, cast.bob.headers, json={"tokens": 99}).status == 403
    changed = ask_now("PATCH", url, cast.alice.headers, json={"tokens": 99})
    assert (changed.status, changed.json["max"]) == (200, 99)
    assert begin(cast.bob, by).status == 202
    assert ask_now("DELETE", url, cast.alice.headers).status == 204
    assert ask_now("GET", url, cast.alice.headers).status == 404
