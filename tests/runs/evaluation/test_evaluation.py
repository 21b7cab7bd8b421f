"""Labels, data sets and trials: who sees and changes them, their bounds, and the exports."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import close_old_connections, connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from agui_host.backends import metrics, work
from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.access.evaluation import data_sets, lines
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import retention
from runs.models import Run, RunLabel, Thread, TrialRun
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, Register, perform, start
from tests.runs.jobs import FINISHED

pytestmark = pytest.mark.django_db(transaction=True)
SETS = "/api/v1/datasets"


def ended(actor: Actor, text: str = "Hi.", agent: Any = None) -> Run:
    run = start(actor, agent, messages=[{"id": str(uuid4()), "role": "user", "content": text}])
    lifecycle.claim(run.pk)
    lifecycle.finish(run.pk, FINISHED)
    return run


def label(actor: Actor, run: Run, *names: str) -> Answer:
    return ask_now(
        "PUT", f"/api/v1/runs/{run.pk}/labels", actor.headers, json={"labels": list(names)}
    )


def made(actor: Actor, *runs: Run, name: str = "set") -> str:
    body = {"name": name, "runs": [str(run.pk) for run in runs]}
    answer = ask_now("POST", SETS, actor.headers, json=body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def listed(actor: Actor, key: str, query: str = "") -> list[str]:
    rows = ask_now("GET", f"{SETS}/{key}/runs{query}", actor.headers).json["results"]
    return [row["id"] for row in rows]


def names_of(run: Run) -> list[str]:
    rows = RunLabel.objects.for_team(run.team).filter(run=run).order_by("name")
    return list(rows.values_list("name", flat=True))


def test_a_case_is_one_line_for_every_reader(cast: Cast) -> None:
    """Python's ``splitlines``, as in many readers of such files, also breaks at these."""
    text = "one\u2028two\u2029three\x85four\nfive"
    run = start(cast.alice, messages=[{"id": "m", "role": "user", "content": text}])
    lifecycle.cancel(run)
    key = made(cast.alice, run)
    export = ask_now("GET", f"{SETS}/{key}/export", cast.alice.headers).body.decode()
    [line] = export.splitlines()
    assert json.loads(line)["inputs"] == text


def test_an_export_is_charged_to_its_team(cast: Cast) -> None:
    key = made(cast.alice, ended(cast.alice, "word, " * 2_000))
    before = metrics.work.labels(str(cast.team.pk), "view")._value.get()
    assert ask_now("GET", f"{SETS}/{key}/export", cast.alice.headers).status == 200
    assert metrics.work.labels(str(cast.team.pk), "view")._value.get() > before + 2_000
    work.charge(cast.team.pk, "view", 100 * work.SHARE)
    assert ask_now("GET", f"{SETS}/{key}/export", cast.alice.headers).status == 429


def test_labels_are_replaced_and_bounded(cast: Cast) -> None:
    run = ended(cast.alice)
    answer = label(cast.bob, run, "bad", " refund ", "bad")
    assert [row["name"] for row in answer.json["labels"]] == ["bad", "refund"]
    assert label(cast.alice, run, "good", "refund").status == 200
    assert names_of(run) == ["good", "refund"]
    for wrong in (["good", "bad"], [""], ["a" * 41], ["a\u0000b"], ["\n"], ["x"] * 21,
                  [str(number) for number in range(21)]):  # fmt: skip
        assert label(cast.alice, run, *wrong).status in (400, 422), wrong
    assert label(cast.vera, run, "bad").status == 403
    assert label(cast.charlie, run, "bad").status == 404
    assert names_of(run) == ["good", "refund"]
    assert label(cast.alice, run).json == {"labels": []}


@given(
    rounds=st.lists(st.lists(st.sampled_from(["good", "bad", "a", "b"]), max_size=4), max_size=5)
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_labels_are_those_of_the_last_valid_put(cast: Cast, rounds: list[list[str]]) -> None:
    run, expected = ended(cast.alice), set[str]()
    for names in rounds:
        if label(cast.alice, run, *names).status == 200:
            expected = set(names)
        else:
            assert {"good", "bad"} <= set(names)
        assert set(names_of(run)) == expected


def test_two_people_label_at_once(cast: Cast) -> None:
    run = ended(cast.alice)

    def put(names: tuple[str, ...]) -> int:
        try:
            return label(cast.alice, run, *names).status
        finally:
            close_old_connections()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(put, [("good", "x"), ("bad", "y")] * 6)) == {200}
    assert names_of(run) in (["good", "x"], ["bad", "y"])


def test_a_data_set_and_its_queue(cast: Cast) -> None:
    first, second = ended(cast.alice), ended(cast.bob)
    key = made(cast.bob, first)
    added = ask_now("POST", f"{SETS}/{key}/runs", cast.bob.headers, json={"agent": "echo"})
    assert added.json == {"added": 1}
    assert listed(cast.vera, key) == [str(second.pk), str(first.pk)]
    label(cast.alice, first, "good", "refund")
    assert listed(cast.vera, key, "?review=true") == [str(second.pk)]
    other = made(cast.alice, name="refunds")
    by_label = {"label": "refund", "most": 5}
    ask_now("POST", f"{SETS}/{other}/runs", cast.alice.headers, json=by_label)
    assert listed(cast.alice, other) == [str(first.pk)]
    gone = ask_now("DELETE", f"{SETS}/{other}/runs/{first.pk}", cast.alice.headers)
    assert (gone.status, listed(cast.alice, other)) == (204, [])
    taken = ask_now("POST", SETS, cast.alice.headers, json={"name": "set"})
    assert (taken.status, taken.code) == (409, "data_set_name_taken")
    member = made(cast.alice, name="alice's")
    assert ask_now("DELETE", f"{SETS}/{member}", cast.bob.headers).status == 403
    assert ask_now("DELETE", f"{SETS}/{key}", cast.bob.headers).status == 204
    assert ask_now("GET", f"{SETS}/{key}", cast.bob.headers).status == 404


def test_private_threads_are_in_no_data_set_of_others(cast: Cast) -> None:
    run, other, active = ended(cast.alice), ended(cast.alice), start(cast.alice)
    foreign = ended(cast.charlie)
    key = made(cast.alice, run, other)
    Thread.objects.filter(pk=run.thread_id).update(
        visibility="private", creator=cast.alice.principal.actor_id
    )
    assert listed(cast.bob, key) == [str(other.pk)]
    export = ask_now("GET", f"{SETS}/{key}/export", cast.bob.headers).body.decode()
    assert str(other.pk) in export
    assert str(run.pk) not in export
    for wrong in (run, active, foreign):
        body = {"runs": [str(wrong.pk)]}
        refused = ask_now("POST", f"{SETS}/{key}/runs", cast.alice.headers, json=body)
        assert (refused.status, refused.json["error"]["details"]["runs"]) == (422, [str(wrong.pk)])
    gone = ask_now("DELETE", f"{SETS}/{key}/runs/{run.pk}", cast.bob.headers)
    assert gone.status == 404
    trial = ask_now("POST", f"{SETS}/{key}/trials", cast.bob.headers, json={"agent": "echo"})
    assert [pair["before"]["id"] for pair in trial.json["pairs"]] == [str(other.pk)]


def test_it_is_bounded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.access.evaluation.data_sets.MOST_RUNS", 2)
    runs = [ended(cast.alice) for _ in range(3)]
    key = made(cast.alice, *runs[:2])
    body = {"runs": [str(runs[2].pk)]}
    full = ask_now("POST", f"{SETS}/{key}/runs", cast.alice.headers, json=body)
    assert (full.status, full.code) == (409, "data_set_full")
    many = {"name": "many", "runs": [str(uuid4()) for _ in range(201)]}
    assert ask_now("POST", SETS, cast.alice.headers, json=many).status == 422


async def test_a_trial_compares_another_agent(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    loud = await db(register, "loud", lambda ctx: ctx.text.upper())

    async def played(text: str, agent: Any) -> Run:
        message = {"id": str(uuid4()), "role": "user", "content": text}
        return await perform(await db(start, cast.alice, agent, messages=[message]), writer)

    echo = await db(lambda: cast.echo)
    runs = [await played(text, echo) for text in ("quiet", "LOUD")]
    key = await db(made, cast.alice, *runs)
    made_trial = await db(lambda: ask_now(
        "POST", f"{SETS}/{key}/trials", cast.bob.headers, json={"agent": "loud"}
    ))  # fmt: skip
    assert made_trial.status == 201
    for pair in made_trial.json["pairs"]:
        await perform(await db(Run.objects.select_related("agent", "thread", "team", "journal").get,
                               pk=pair["after"]["id"], team=cast.team), writer)  # fmt: skip
    address = f"/api/v1/trials/{made_trial.json['id']}"
    trial = (await db(lambda: ask_now("GET", address, cast.vera.headers))).json
    compared = [(p["before"]["answered"], p["after"]["answered"], p["differs"])
                for p in trial["pairs"]]  # fmt: skip
    assert compared == [("quiet", "QUIET", True), ("LOUD", "LOUD", False)]
    assert (trial["agent"], trial["waiting"]) == ("loud", 0)
    lines = (await db(lambda: ask_now("GET", f"{SETS}/{key}/export", cast.vera.headers))).body
    cases = [json.loads(line) for line in lines.splitlines()]
    assert [(c["inputs"], c["expected_output"]) for c in cases] == [
        ("LOUD", "LOUD"), ("quiet", "quiet"),
    ]  # fmt: skip
    assert cases[0].keys() == {"name", "inputs", "expected_output", "metadata"}
    form = await db(lambda: ask_now("GET", f"{SETS}/{key}/export?form=langfuse", cast.vera.headers))
    item = json.loads(form.body.splitlines()[0])
    assert (item["input"], item["expectedOutput"]) == ("LOUD", "LOUD")
    wrong = await db(lambda: ask_now("GET", f"{SETS}/{key}/export?form=xml", cast.vera.headers))
    assert wrong.status == 422
    assert loud.slug == "loud"


def test_a_trial_waits_at_a_limit_and_goes_on(cast: Cast, settings: Settings) -> None:
    key = made(cast.alice, *(ended(cast.alice) for _ in range(3)))
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 5  # Three have been started already.
    address = f"{SETS}/{key}/trials"
    trial = ask_now("POST", address, cast.alice.headers, json={"agent": "echo"}).json
    assert trial["waiting"] == 1
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 100
    for _ in range(2):
        trial = ask_now("POST", f"/api/v1/trials/{trial['id']}", cast.alice.headers).json
        assert trial["waiting"] == 0
    entries = TrialRun.objects.for_team(cast.team)
    assert len(set(entries.values_list("again", flat=True))) == 3
    assert ask_now("POST", address, cast.vera.headers, json={"agent": "echo"}).status == 403
    unknown = ask_now("POST", address, cast.alice.headers, json={"agent": "nobody"})
    assert (unknown.status, unknown.code) == (404, "unknown_agent")
    assert len(ask_now("GET", address, cast.vera.headers).json["results"]) == 1
    assert ask_now("GET", f"/api/v1/trials/{trial['id']}", cast.charlie.headers).status == 404
    counts = set()
    for number in range(2, 4):
        ask_now("POST", address, cast.alice.headers, json={"agent": "echo"})
        with CaptureQueriesContext(connection) as queries:
            rows = ask_now("GET", address, cast.vera.headers).json["results"]
        assert [row["waiting"] for row in rows] == [0] * number
        counts.add(len(queries))
    assert len(counts) == 1, "as many queries, however many trials"


def test_a_run_that_is_purged_meanwhile_is_left_out_of_an_export(cast: Cast) -> None:
    runs = [ended(cast.alice) for _ in range(2)]
    row = data_sets.find(cast.alice.principal, UUID(made(cast.alice, *runs)))
    export = lines.of(cast.alice.principal, row, "langfuse")
    assert json.loads(next(export))["id"] == str(runs[1].pk)
    retention.purge_run(runs[0])
    assert list(export) == []


@pytest.mark.parametrize("query", ["runs?review=maybe", "runs?revew=true", "export?from=langfuse"])
def test_a_wrong_query_is_refused(cast: Cast, query: str) -> None:
    key = made(cast.alice)
    assert ask_now("GET", f"{SETS}/{key}/{query}", cast.alice.headers).status in (400, 422)
