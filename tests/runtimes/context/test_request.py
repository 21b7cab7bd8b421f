"""RunRequest: a RunAgentInput read by the names that an agent's author uses."""

from agui_host.runtimes.context.request import RunRequest, beginning


def test_what_is_absent_reads_as_empty() -> None:
    request = RunRequest({})
    assert (request.thread_id, request.run_id, request.parent_run_id) == ("", "", None)
    assert request.messages == request.tools == request.context == request.resume == []
    assert request.forwarded_props == {}
    assert request.text == ""
    assert RunRequest({"forwardedProps": 0, "messages": None}).forwarded_props == 0


def test_the_text_is_the_last_users() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    messages = [
        {"role": "user", "content": "first"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "no"},
    ]
    assert RunRequest({"messages": messages}).text == "a\nb"
    assert RunRequest({"messages": messages[:1]}).text == "first"
    assert RunRequest({"messages": [{"role": "user", "content": None}]}).text == ""


def test_the_sdk_gets_what_clients_may_leave_out() -> None:
    body = {"threadId": "t", "runId": "r", "messages": [], "state": None}
    read = RunRequest(body).input
    assert (read.thread_id, read.run_id, read.state) == ("t", "r", {})
    assert (read.tools, read.context, read.forwarded_props) == ([], [], {})


def test_a_beginning_is_one_line() -> None:
    assert beginning("  a\n\t b   c", 5) == "a b c"
    assert beginning("x" * 100, 10) == "x" * 10
    assert beginning(" \n" * 10_000 + "late", 10) == "late"
