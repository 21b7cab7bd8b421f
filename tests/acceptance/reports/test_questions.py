"""Questions and their answers, and runs that are sent again.

Each test is a public report about some host or client, named in its first line.
"""

import json

from tests.acceptance.reports.talk import (
    ask,
    body,
    connect,
    ending,
    find_run,
    http_call,
    input_of,
    kinds,
    need,
    play,
    run,
    snapshot,
    stream,
    uid,
    user,
)


def test_legacy_same_run():
    """CopilotKit/CopilotKit#6999 + ag-ui-protocol/ag-ui#1945.

    A legacy question (CUSTOM on_interrupt, plain finish: ag-ui-langgraph's default) answered as
    CopilotKit 1.74 useInterrupt does: the same runId, forwardedProps.command.resume.
    """
    thread, r, question = (
        uid("t-"),
        uid("r-"),
        {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps({"question": "Approve?"})},
    )
    run("case-play", body(thread=thread, script=[question], runId=r))
    messages, _ = snapshot(connect(thread))
    data = body(
        messages,
        thread=thread,
        runId=r,
        props={"command": {"resume": "yes", "interruptEvent": {"question": "Approve?"}}},
    )
    data.pop("protocolVersion")
    second = run("case-see", data)
    need(
        len(find_run(thread)) == 2, f"the answer starts nothing and reaches nobody: {kinds(second)}"
    )
    need(
        ending(second)["result"]["forwardedProps"]["command"]["resume"] == "yes",
        str(ending(second)),
    )


def test_legacy_answer():
    """ag-ui-protocol/ag-ui#1945.

    Question asked both ways, answered by forwardedProps.command.resume (what 0.x front ends
    send).
    """
    thread = uid("t-")
    first = run("case-ask", body(thread=thread))
    need(ending(first)["outcome"]["type"] == "interrupt", str(ending(first)))
    again = connect(thread, "case-ask")
    messages, _ = snapshot(again)
    events = run(
        "case-ask",
        body(
            messages,
            thread=thread,
            props={"command": {"resume": "yes", "interruptEvent": {"question": "Approve 5 EUR?"}}},
        ),
    )
    text = "".join(e.get("delta", "") for e in events)
    need(
        "answered" in text,
        f"the answer does not reach the agent: {ending(events).get('outcome')}",
    )


def test_both_ways():
    """langfuse/langfuse#15241.

    Both ways, answered by resume: does the legacy event come back?.
    """
    thread = uid("t-")
    first = run("case-ask", body(thread=thread))
    q = ending(first)["outcome"]["interrupts"][0]["id"]
    hydrated = connect(thread, "case-ask")
    need(
        "CUSTOM" in kinds(hydrated) and ending(hydrated)["outcome"]["type"] == "interrupt",
        str(kinds(hydrated)),
    )
    second = run(
        "case-ask",
        body(
            [], thread=thread, resume=[{"interruptId": q, "status": "resolved", "payload": "yes"}]
        ),
    )
    need("answered" in "".join(e.get("delta", "") for e in second), str(ending(second)))
    hydrated = connect(thread, "case-ask")
    need(
        "CUSTOM" not in kinds(hydrated)
        and (ending(hydrated).get("outcome") or {}).get("type") != "interrupt",
        str(kinds(hydrated)),
    )


def resumed_with(thread, question, payload, way):
    """The payload of the agent's `resume`, as JSON: 0, 0.0, false and null are different there."""
    if way == "resume":
        answer = {"interruptId": question, "status": "resolved", "payload": payload}
        end = ending(run("case-ask", body([], thread=thread, resume=[answer])))
    else:
        end = ending(answered(thread, lambda _: payload))
    need(end["type"] == "RUN_FINISHED", str(end))
    (resume,) = end["result"]["resume"]
    need(resume["interruptId"] == question, str(resume))
    need(resume["status"] == "resolved", str(resume))
    need("payload" in resume, f"{payload!r} is gone: {resume}")
    return json.dumps(resume["payload"])


def answered(thread, make_payload):
    """The log of the run that starts once each of the thread's questions has its answer."""
    _, page = http_call("GET", f"/api/v1/interrupts?thread_id={thread}")
    for row in page["results"]:
        data = {"status": "resolved", "payload": make_payload(row)}
        status, answer = http_call("POST", f"/api/v1/interrupts/{row['id']}/answer", data)
        need(status == 200, f"{status} {answer}")
    return stream("GET", f"/api/v1/runs/{answer['run']['id']}/events")


def test_falsy_payloads():
    """ag-ui-protocol/ag-ui#2286.

    Payloads null, false, '', 0, [], {} resume and stay what they are.
    """
    for payload in (None, False, "", 0, [], {}, 0.0, -0.0):
        for way in ("resume", "inbox"):
            thread = uid("t-")
            first = run("case-ask", body(thread=thread))
            question = ending(first)["outcome"]["interrupts"][0]["id"]
            resumed = resumed_with(thread, question, payload, way)
            need(resumed == json.dumps(payload), f"{payload!r} by {way}: {resumed}")


def test_same_interrupt_ids():
    """langchain-ai/langgraph#6626: two questions with one id in one outcome.

    Each gets an id, is listed and can be answered, and the agent gets both answers.
    """
    thread, q = uid("t-"), uid("q-")
    events = play(
        [
            {
                "type": "RUN_FINISHED",
                "threadId": "x",
                "runId": "x",
                "outcome": {
                    "type": "interrupt",
                    "interrupts": [
                        {"id": q, "reason": "tool_call", "message": "circle?"},
                        {"id": q, "reason": "tool_call", "message": "square?"},
                    ],
                },
            }
        ],
        thread,
    )
    need(ending(events)["type"] == "RUN_FINISHED", f"the run ends with {ending(events)}")
    asked = {each["message"]: each["id"] for each in ending(events)["outcome"]["interrupts"]}
    need(list(asked) == ["circle?", "square?"], str(asked))
    need(len(set(asked.values())) == 2, f"both have the id {asked}")
    _, page = http_call("GET", f"/api/v1/interrupts?thread_id={thread}")
    listed = {row["message"]: row["interrupt_id"] for row in page["results"]}
    need(listed == asked, f"the inbox lists {listed}")
    log = answered(thread, lambda row: f"a {row['message']}")
    need(ending(log)["type"] == "RUN_FINISHED", str(ending(log)))
    resume = {each["interruptId"]: each["payload"] for each in log[0]["input"]["resume"]}
    need(resume == {id: f"a {message}" for message, id in asked.items()}, str(resume))


def test_ordinary_request_between():
    """TanStack/ai#1106.

    An ordinary request while the next question is open, between two resumes.
    """
    thread = uid("t-")
    q1 = ask(thread)
    q2 = uid("q-")
    run(
        "case-play",
        body(
            [],
            thread=thread,
            script=[
                {
                    "type": "RUN_FINISHED",
                    "threadId": "x",
                    "runId": "x",
                    "outcome": {
                        "type": "interrupt",
                        "interrupts": [{"id": q2, "reason": "confirmation", "message": "2?"}],
                    },
                }
            ],
            resume=[{"interruptId": q1, "status": "resolved", "payload": 1}],
        ),
    )
    messages, _ = snapshot(connect(thread))
    plain = run("case-see", body(messages, thread=thread))
    need(
        (ending(plain).get("outcome") or {}).get("type") == "interrupt",
        f"the ordinary request was run: {ending(plain)}",
    )
    last = run(
        "case-see",
        body([], thread=thread, resume=[{"interruptId": q2, "status": "resolved", "payload": 2}]),
    )
    need(
        ending(last)["result"]["resume"]
        == [{"status": "resolved", "interruptId": q2, "payload": 2}],
        str(ending(last)),
    )


def test_run_id_with_new_message():
    """spikonado/sprocket#50: the same runId with a new message."""
    thread, r, u = uid("t-"), uid("r-"), user("one")
    run("case-see", body([u], thread=thread, runId=r))
    status, _text = http_call(
        "POST", "/agui/agent/case-see/run", body([u, user("two")], thread=thread, runId=r)
    )
    inputs = [m["content"] for m in input_of(thread)["messages"]]
    need(
        status == 409 or "two" in inputs,
        f"{status}: an old answer with 200, and the new message is in nothing: {inputs}",
    )


def test_idempotency():
    """aegra/aegra#501: the same Idempotency-Key with another body."""
    key, d = uid("k-"), body()
    s1, r1 = http_call(
        "POST", "/api/v1/runs", {"agent": "case-play", "input": d}, {"Idempotency-Key": key}
    )
    s2, r2 = http_call(
        "POST", "/api/v1/runs", {"agent": "case-play", "input": d}, {"Idempotency-Key": key}
    )
    s3, _r3 = http_call(
        "POST", "/api/v1/runs", {"agent": "case-play", "input": body()}, {"Idempotency-Key": key}
    )
    need(s1 == 202 and r2["id"] == r1["id"] and s3 == 409, f"{s1} {s2} {s3}")
