"""Schemas and answers that would keep a validator busy for ever are refused at once."""

from time import thread_time
from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable

DOUBLING = {
    "$ref": "#/$defs/0",
    "$defs": {
        **{str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)},
        "40": {"type": "string"},
    },
}
DEEP: dict[str, Any] = {"type": "string"}
for _ in range(70):
    DEEP = {"not": DEEP}

UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "lookahead": ({"pattern": "(?=a)a"}, "lookaround"),
    "back reference": ({"properties": {"x": {"pattern": r"(a)\1"}}}, "back references"),
    "a huge automaton": ({"pattern": r"((\w{100}){100}){100}"}, "pattern"),
    "many patterns": ({"allOf": [{"pattern": "a"} for _ in range(21)]}, "patterns"),
    "itself": ({"$ref": "#"}, "refers to itself"),
    "a circle": (
        {"properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"items": {"$ref": "#"}}}},
        "refers to itself",
    ),
    "doubling": (DOUBLING, "nested deeper|5,000 values"),
    "deep": (DEEP, "nested deeper"),
    "elsewhere": ({"$ref": "http://127.0.0.1:9/schema.json"}, "same schema"),
    "encoded": ({"$ref": "#/%24defs/a", "$defs": {"a": {}}}, "same schema"),
    "nowhere": ({"$ref": "#/nowhere"}, "leads nowhere"),
    "dynamic": ({"$dynamicRef": "#x"}, "only kind of reference"),
    "another base": ({"properties": {"a": {"$id": "http://x/"}}}, r"\$id"),
    "large": ({"description": "x" * 70_000}, "characters"),
    "no schema": ({"type": "nonsense"}, "not a valid JSON Schema"),
    "an unknown dialect": ({"$schema": ["x"]}, "not a valid JSON Schema"),
}


@pytest.mark.parametrize(("schema", "reason"), UNUSABLE.values(), ids=UNUSABLE)
class TestASchemaThatCannotBeChecked:
    def test_is_refused(self, schema: dict[str, Any], reason: str) -> None:
        with pytest.raises(Unusable, match=reason):
            ResponseSchema(schema)

    def test_goes_and_the_question_stays(self, schema: dict[str, Any], reason: str) -> None:
        intake = Intake("t", "r")
        intake.start()
        intake.accept(asking(schema))
        assert intake.terminal is not None
        assert intake.terminal["outcome"]["interrupts"] == [{"id": "i", "reason": "r"}]
        assert [(f.rule, f.action) for f in intake.take_findings()] == [
            ("response_schema", "dropped")
        ]

    def test_fails_a_strict_run(self, schema: dict[str, Any], reason: str) -> None:
        intake = Intake("t", "r", repair=False)
        intake.start()
        with pytest.raises(RunFailed, match=reason) as refused:
            intake.accept(asking(schema))
        assert refused.value.reason is RunErrorCode.INVALID_EVENT
        assert "interrupts.0.responseSchema" in refused.value.message


FORM = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "tags": {"items": {"$ref": "#/$defs/tag"}}},
    "required": ["ok"],
    "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
}


def test_what_fits_and_what_does_not() -> None:
    form = ResponseSchema(FORM)
    assert form.problems({"ok": True, "tags": ["a"]}) == []
    assert form.problems({"tags": ["secret", 7, "A"]}) == [
        {"path": "$", "message": '"ok" is a required property'},
        {"path": "$.tags[1]", "message": 'the value is not of type "string"'},
        {"path": "$.tags[2]", "message": 'the value does not match "^[a-z]+$"'},
    ]


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 60 + "!"),
        ({"pattern": "^(a+)+$"}, "a" * 1_000_000),
        ({"items": {"anyOf": [{"const": n} for n in range(900)]}}, list(range(-90_000, 0))),
        ({"items": {"type": "string"}}, list(range(300_000))),
        ({"type": "string"}, {"a": [0] * 1_000_000}),
    ],
    ids=["exponential", "long", "product", "errors", "large"],
)
def test_a_hostile_answer_is_refused_in_short_time(schema: dict[str, Any], answer: Any) -> None:
    checked = ResponseSchema(schema)
    began = thread_time()
    assert len(checked.problems(answer)) == 1
    assert thread_time() - began < 1


def test_many_schemas_share_one_bound() -> None:
    large = asking({"description": "x" * 60_000})
    large["outcome"]["interrupts"] = [
        {**large["outcome"]["interrupts"][0], "id": str(n)} for n in range(6)
    ]
    intake = Intake("t", "r")
    intake.start()
    intake.accept(large)
    assert intake.terminal is not None
    usable = [q["id"] for q in intake.terminal["outcome"]["interrupts"] if "responseSchema" in q]
    assert usable == ["0", "1", "2", "3"]


def asking(schema: dict[str, Any]) -> dict[str, Any]:
    """A RUN_FINISHED that asks one question."""
    question = {"id": "i", "reason": "r", "responseSchema": schema}
    return {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [question]}}
