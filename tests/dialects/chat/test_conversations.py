"""OpenAI's conversations: items and metadata are kept, inputs to agents, listed and removed."""

from typing import Any

import pytest

from agui_host.backends import work
from agui_host.backends.postgres.bridge import db
from agui_host.dialects.openai import conversations
from agui_host.protocol.wire import room
from agui_host.teams.models import Team, TeamLimits
from runs.models import Run, TeamUsage, Thread
from tests.asgi import ask, ask_now
from tests.cast import Cast, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]
ADA = {"type": "message", "role": "user", "content": "my name is Ada"}
CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"a":1}'}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "here"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}


def call(cast: Cast, method: str, url: str, status: int = 200, **body: Any) -> Any:
    more = {"json": body} if body or method == "POST" else {}
    answer = ask_now(method, f"/v1/conversations{url}", cast.alice.headers, **more)
    assert answer.status == status, answer.body
    return answer.json


def kinds(page: Json) -> list[str]:
    return [item["type"] for item in page["data"]]


def texts(page: Json) -> list[str]:
    return [part["text"] for item in page["data"] for part in item.get("content", ())]


async def test_the_items_are_the_history_of_the_first_run(
    cast: Cast, writer: Any, register: Any
) -> None:
    inputs: list[Any] = []
    await db(register, "sees", lambda ctx: inputs.extend(ctx.messages) or "Ada.")
    made = await ask(
        "POST", "/v1/conversations", cast.alice.headers,
        json={"items": [ADA, SAID], "metadata": {"topic": "demo"}},
    )  # fmt: skip
    name = made.json["id"]
    assert made.json["metadata"] == {"topic": "demo"}
    body = {"model": "sees", "conversation": name, "input": "who am I?", "background": True}
    assert (await ask("POST", "/v1/responses", cast.alice.headers, json=body)).status == 200
    await perform(await db(Run.objects.get), writer)
    pairs = [(each["role"], each["content"]) for each in inputs]
    assert pairs == [("user", "my name is Ada"), ("assistant", "Hi."), ("user", "who am I?")]
    page = await ask("GET", f"/v1/conversations/{name}/items?order=asc", cast.alice.headers)
    assert texts(page.json) == ["my name is Ada", "Hi.", "who am I?", "Ada."]
    known = await ask("GET", f"/v1/conversations/{name}", cast.alice.headers)
    assert known.json["metadata"] == {"topic": "demo"}


def test_one_without_items_is_there_until_it_is_deleted(cast: Cast) -> None:
    made = call(cast, "POST", "")
    name = made["id"]
    assert made == {**made, "object": "conversation", "metadata": {}}
    assert call(cast, "GET", f"/{name}") == made
    assert call(cast, "GET", f"/{name}/items")["data"] == []
    assert call(cast, "DELETE", f"/{name}")["deleted"] is True
    for path in (f"/{name}", f"/{name}/items", "/nothing/items"):
        call(cast, "GET", path, 404)
    call(cast, "POST", f"/{name}/items", 404, items=[ADA])
    call(cast, "DELETE", f"/{name}", 404)
    assert not Thread.objects.exists()


def test_a_session_adds_lists_pops_and_clears(cast: Cast) -> None:
    """As the sessions of OpenAI's Agents SDKs use it."""
    name = call(cast, "POST", "", items=[])["id"]
    added = call(cast, "POST", f"/{name}/items", items=[ADA, CALL, RESULT, SAID])
    assert kinds(added) == ["message", "function_call", "function_call_output", "message"]
    page = call(cast, "GET", f"/{name}/items?order=asc")
    assert page["data"] == added["data"]
    assert page["data"][1]["arguments"] == CALL["arguments"]
    assert (page["data"][2]["call_id"], page["data"][2]["output"]) == ("c", "here")
    newest = call(cast, "GET", f"/{name}/items?limit=1")
    assert (texts(newest), newest["has_more"]) == (["Hi."], True)
    following = call(cast, "GET", f"/{name}/items?limit=2&after={newest['last_id']}")
    assert kinds(following) == ["function_call_output", "function_call"]
    call(cast, "POST", f"/{name}/items", items=added["data"])  # sent again: it has them
    assert call(cast, "GET", f"/{name}/items?order=asc")["data"] == added["data"]
    for item in newest["data"] + following["data"]:
        assert call(cast, "GET", f"/{name}/items/{item['id']}") == item
        call(cast, "DELETE", f"/{name}/items/{item['id']}")
        call(cast, "GET", f"/{name}/items/{item['id']}", 404)
    assert texts(call(cast, "GET", f"/{name}/items")) == ["my name is Ada"]
    call(cast, "GET", f"/{name}/items?limit=101", 422)
    call(cast, "GET", f"/{name}/items?after=x", 400)
    assert call(cast, "DELETE", f"/{name}")["object"] == "conversation.deleted"
    assert not Thread.objects.exists()


def test_metadata_changes_and_strings_only(cast: Cast) -> None:
    name = call(cast, "POST", "", metadata={"a": "1"})["id"]
    assert call(cast, "POST", f"/{name}", metadata={"b": "2"})["metadata"] == {"b": "2"}
    assert call(cast, "GET", f"/{name}")["metadata"] == {"b": "2"}
    call(cast, "POST", "", 422, metadata={"a": 1})
    call(cast, "POST", "", 422, items=[{"role": "robot"}])


@pytest.mark.parametrize(
    "metadata", [{str(n): "" for n in range(17)}, {"x" * 65: ""}, {"a": "x" * 513}]
)
def test_metadata_is_bounded(cast: Cast, metadata: Json) -> None:
    """It is in the row of the thread, which every list of runs reads."""
    call(cast, "POST", "", 422, metadata=metadata)
    name = call(cast, "POST", "", metadata={"x" * 64: "x" * 512})["id"]
    call(cast, "POST", f"/{name}", 422, metadata=metadata)


def test_items_are_bounded_and_each_id_is_one(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = [{**ADA, "id": "m"}, CALL, {**ADA, "id": "m", "content": "again"}, CALL]
    name = call(cast, "POST", "", items=twice)["id"]
    assert kinds(call(cast, "GET", f"/{name}/items?order=asc")) == ["message", "function_call"]
    call(cast, "POST", f"/{name}/items", items=[SAID])
    monkeypatch.setattr(conversations, "MOST", 1000)
    full = call(cast, "POST", f"/{name}/items", 413, items=[{**ADA, "content": "x" * 1000}])
    assert full["error"]["code"] == "too_large"
    assert len(call(cast, "GET", f"/{name}/items")["data"]) == 3


def test_an_item_that_is_longer_than_an_answer_is_cut(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {**ADA, "id": "m", "content": "x" * 5000}
    name = call(cast, "POST", "", items=[long])["id"]
    monkeypatch.setattr(room, "MOST_CHARACTERS", 1000)
    (listed,) = call(cast, "GET", f"/{name}/items")["data"]
    assert listed == call(cast, "GET", f"/{name}/items/m")
    (part,) = listed["content"]
    assert part["text"].startswith("x" * 500)
    assert "[Cut here" in part["text"]
    assert len(part["text"]) < 2000


def test_a_team_that_stores_too_much_adds_nothing(cast: Cast) -> None:
    empty = call(cast, "POST", "")["id"]
    name = call(cast, "POST", "", items=[{**ADA, "id": "m"}])["id"]
    TeamLimits.objects.create(team=cast.team, stored_bytes=7)
    TeamUsage.objects.update_or_create(team=cast.team, defaults={"stored_bytes": 7})
    for url, body in (
        ("", {"items": [ADA]}),
        (f"/{name}/items", {"items": [SAID]}),
        (f"/{empty}", {"metadata": {"a": "1"}}),
    ):
        refusal = call(cast, "POST", url, 429, **body)
        assert refusal["error"]["code"] == "limit_reached"
    assert Thread.objects.count() == 2
    call(cast, "DELETE", f"/{name}/items/m")


def test_an_item_under_legal_hold_stays(cast: Cast) -> None:
    name = call(cast, "POST", "", items=[{**ADA, "id": "m"}])["id"]
    call(cast, "DELETE", f"/{name}/items/other", 404)
    for model in (Thread, Team):
        model.objects.update(legal_hold=True)
        assert call(cast, "DELETE", f"/{name}/items/m", 409)["error"]["code"] == "legal_hold"
        model.objects.update(legal_hold=False)
    assert texts(call(cast, "GET", f"/{name}/items")) == ["my name is Ada"]
    call(cast, "DELETE", f"/{name}/items/m")
    assert call(cast, "GET", f"/{name}/items")["data"] == []


def test_who_owes_work_waits_before_a_history_is_read(cast: Cast) -> None:
    name = call(cast, "POST", "", items=[ADA])["id"]
    work.charge(cast.team.pk, "fold", 10 * work.SHARE)
    for url in (f"/{name}/items", f"/{name}/items/x"):
        call(cast, "GET", url, 429)
    call(cast, "POST", f"/{name}/items", 429, items=[SAID])
    body = {"model": "echo", "messages": [{"role": "user", "content": "x"}]}
    headers = {**cast.alice.headers, "x-thread-id": name}
    assert ask_now("POST", "/v1/chat/completions", headers, json=body).status == 429
    body = {"model": "echo", "conversation": name, "input": [RESULT]}
    assert ask_now("POST", "/v1/responses", cast.alice.headers, json=body).status == 429


def test_a_thread_of_any_dialect_is_one_and_a_busy_one_is_not_changed(cast: Cast) -> None:
    start(cast.alice, threadId="t", messages=[{"role": "user", "content": "Hi."}])
    assert call(cast, "GET", "/t/items")["data"] == []  # what has not ended is no history yet
    assert call(cast, "POST", "/t/items", 409, items=[SAID])["error"]["code"] == "thread_busy"
    for actor, status in ((cast.charlie, 404), (cast.vera, 403)):
        refusal = ask_now("POST", "/v1/conversations/t/items", actor.headers, json={"items": [ADA]})
        assert refusal.status == status
    assert ask_now("DELETE", "/v1/conversations/t", cast.bob.headers).status == 403
