"""Agents that misbehave in a real worker: each run ends once, with a code that names the cause."""

from collections.abc import Callable

import pytest

from tests.acceptance.host import Host, wait_for

TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
TWO = [{"text": "hello ", "n": 2}]


def ended(host: Host, script: list[dict[str, object]]) -> tuple[str, list[dict[str, object]]]:
    """The error code of a run of ``script`` ('' for none), and its log."""
    run = host.begin(script=script)
    done = host.wait_status(run["id"], "succeeded", "failed", "cancelled", "interrupted")
    log = [item["event"] for item in host.events(run["id"])]
    assert [event["type"] in TERMINAL for event in log].count(True) == 1
    assert log[-1]["type"] in TERMINAL
    return (done["error"] or {"code": ""})["code"], log


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([{"text": "kept"}, {"raise": "password=hunter2"}], "agent_error"),
        ([{"text": "kept"}, {"exit": 3}], "agent_error"),
        ([{"text": "kept"}, {"rubbish": "none"}], "invalid_event"),
        ([{"text": "kept"}, {"rubbish": "wrong_type"}], "invalid_event"),
        ([{"text": "kept"}, {"rubbish": "huge"}], "event_too_large"),
        ([{"text": "kept"}, {"flood": 100_000}], "event_flood"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_was_valid_before_stays(
    host: Host, script: list[dict[str, object]], code: str
) -> None:
    run, log = ended(host, script)
    assert run == code
    assert any(event.get("delta") == "kept" for event in log)
    assert "hunter2" not in str(log[1:])  # the first one echoes the input


@pytest.mark.parametrize("value", ["nan", "deep"])
def test_a_diagnostic_never_ends_a_run(host: Host, value: str) -> None:
    code, log = ended(host, [{"rubbish": value}, {"text": "kept"}])
    assert code == ""
    assert any(event.get("delta") == "kept" for event in log)


def test_an_agent_that_never_ends_runs_into_its_timeout(new_host: Callable[..., Host]) -> None:
    host = new_host(AGUI_RUN_TIMEOUT="2", AGUI_CANCEL_GRACE="1")
    assert ended(host, [{"text": "kept"}, {"forever": True}])[0] == "timeout"
    assert ended(host, [{"text": "kept"}, {"swallow_cancel": 60}])[0] == "timeout"


@pytest.mark.slow
def test_blocking_agent_is_named_and_its_neighbours_live(new_host: Callable[..., Host]) -> None:
    host = new_host(AGUI_LOOP_BLOCK_WARN="2", AGUI_WORKER_LOST_AFTER="4", AGUI_HEARTBEAT="1")
    neighbour = host.begin(script=[{"text": "tick ", "n": 200, "rate": 50}])
    code, _ = ended(host, [{"block": 6}, *TWO])
    assert code == ""
    assert host.wait_status(neighbour["id"], "succeeded", "failed")["status"] == "succeeded"
    log = host.log_of(host.worker)
    assert "worker.loop_blocked" in log
    assert "agent scripted" in log


@pytest.mark.slow
def test_agent_that_blocks_for_good_costs_the_process_and_not_the_host(
    new_host: Callable[..., Host],
) -> None:
    host = new_host(
        AGUI_LOOP_BLOCK_WARN="1",
        AGUI_LOOP_BLOCK_LIMIT="3",
        AGUI_WORKER_LOST_AFTER="4",
        AGUI_HEARTBEAT="1",
        AGUI_REAP_EVERY="1",
    )
    run = host.begin(script=[{"block": 3600}])
    assert host.wait_status(run["id"], "failed")["error"]["code"] == "worker_lost"
    wait_for(
        lambda: host.worker.process is not None and host.worker.process.poll() is not None,
        "the blocked worker to end",
    )
    assert "worker.loop_blocked_for_good" in host.log_of(host.worker)
    host.restart(host.worker)
    again = host.begin(script=TWO, threadId=run["thread_id"])
    assert host.wait_status(again["id"], "succeeded", "failed")["status"] == "succeeded"


def test_a_stopping_worker_ends_its_runs_first(tough_host: Host) -> None:
    host = tough_host
    run = host.begin(script=[{"text": "tick ", "n": 100_000, "rate": 50}])
    wait_for(lambda: host.run(run["id"])["events"] > 10, "some events")
    host.worker.stop()
    done = host.run(run["id"])
    assert (done["status"], done["error"]["code"]) == ("failed", "shutdown")
