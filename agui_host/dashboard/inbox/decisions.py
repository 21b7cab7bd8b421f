"""The form of an approval that a framework asks for: approve, reject with a reason, or edit.

One action has three buttons. Several are decided all at once by two buttons, or one by one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.http import QueryDict

from agui_host.dashboard.inbox.fields import ABSENT, LONGEST, value_of
from agui_host.dashboard.inbox.form import DISMISS, REJECT, AnswerForm
from agui_host.dashboard.inbox.indented import LONGEST as CUT
from agui_host.dashboard.inbox.indented import indented
from agui_host.protocol.questions import table
from agui_host.protocol.questions.approval import Action, Approval
from agui_host.protocol.questions.decision import Decision, Undecidable
from agui_host.protocol.questions.parts import MOST_PARTS, Part, parts_of
from runs.models import Interrupt

APPROVE, EDIT, EACH = "approve", "edit", "each"
WORDS = {APPROVE: "Approve", REJECT: "Reject", EDIT: "Approve with changes"}
MOST_ARGUMENTS = 300
"""Fields for the arguments of all actions of a form; beyond it, each action has one for JSON."""
KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(slots=True)
class Choice:
    """One action in the form: the names of its fields, by the parts of its arguments."""

    action: Action
    number: int
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The decisions that a person can make about it."""
        may = {APPROVE: self.action.approvable, REJECT: self.action.rejectable, EDIT: self.parts}
        return [kind for kind, allowed in may.items() if allowed]

    @property
    def decided(self) -> str:
        """The name of the field that decides, where there are several actions."""
        return f"decision{self.number}"

    @property
    def reason(self) -> str:
        """The name of the field for a reason."""
        return f"reason{self.number}"


class DecisionForm(AnswerForm):
    """``choice`` is the button: a decision for all actions, EACH for one by one, or DISMISS."""

    def __init__(
        self, question: Interrupt, approval: Approval, data: QueryDict | None = None
    ) -> None:
        super().__init__(question, data)
        self.approval, self.parts, self.choice = approval, [], None
        self._fields_of = {}
        self.fields.clear()
        self.is_one = len(approval.actions) == 1
        self.choices = [Choice(action, n) for n, action in enumerate(approval.actions)]
        self._as_json = _number_of_arguments(approval) > MOST_ARGUMENTS
        for each in self.choices:
            self._add(each)

    def _add(self, choice: Choice) -> None:
        if choice.action.editable:
            for n, part in enumerate(_parts(choice.action, as_json=self._as_json)):
                name = f"argument{choice.number}_{n}"
                choice.parts[name], self.fields[name] = part, self._field(part)
                self.fields[name].required = False
        if not self.is_one:
            options = [(kind, WORDS[kind]) for kind in choice.kinds]
            self.fields[choice.decided] = forms.ChoiceField(
                label="Decision", choices=options, widget=forms.RadioSelect(), required=False
            )
        if choice.action.rejectable:
            self.fields[choice.reason] = forms.CharField(
                label="Reason",
                help_text="For a rejection; the agent reads it.",
                required=False,
                max_length=LONGEST,
                widget=forms.Textarea(attrs={"rows": 2}),
            )

    @property
    def groups(self) -> Iterator[dict[str, Any]]:
        """The actions as the template shows them, with their fields."""
        for choice in self.choices:
            arguments = choice.action.arguments
            yield {
                "name": choice.action.name,
                "description": choice.action.description,
                "arguments": indented(arguments) if arguments else "",
                "decision": None if self.is_one else self[choice.decided],
                "fields": [self[name] for name in choice.parts],
                "reason": self[choice.reason] if choice.action.rejectable else None,
            }

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The buttons that answer; that for edited arguments is next to their fields."""
        every = [set(choice.kinds) for choice in self.choices]
        shared = [kind for kind in (APPROVE, REJECT) if all(kind in kinds for kinds in every)]
        if self.is_one:
            return [(kind, WORDS[kind]) for kind in shared]
        return [*((kind, f"{WORDS[kind]} all") for kind in shared), (EACH, "Send decisions")]

    @property
    def edit(self) -> tuple[str, str] | None:
        """The button that answers with the edited arguments of the only action."""
        return (EDIT, WORDS[EDIT]) if self.is_one and self.choices[0].parts else None

    @property
    def has_favourite(self) -> bool:
        """Whether the first button is the one to see first."""
        return True

    def clean(self) -> dict[str, Any]:
        """Check the decision; arguments that are not edited need not be valid."""
        pressed = {value for value, _ in self.buttons} | ({EDIT} if self.edit else set())
        for choice in self.choices:
            if self._kind(choice) != EDIT:
                for name in choice.parts:
                    self.errors.pop(name, None)
        if self._pressed not in {*pressed, DISMISS}:
            raise forms.ValidationError("Choose one of the answers.")
        for choice in self.choices:
            if self._pressed == EACH and not self._kind(choice):
                self.add_error(choice.decided, "Decide about this action.")
            if self._kind(choice) == EDIT:
                self._check_whole(choice)
        if not self.errors:
            try:
                self.answer()
            except Undecidable as reason:
                raise forms.ValidationError(str(reason)) from None
        return self.cleaned_data

    def answer(self) -> dict[str, Any]:
        """The answer as the API takes it. Call ``is_valid`` first."""
        if self._pressed == DISMISS:
            return {"status": "cancelled"}
        decisions = [self._decision(choice) for choice in self.choices]
        answer = {"status": "resolved", "payload": self.approval.payload(decisions)}
        if self.is_one and decisions[0].reason:
            answer["metadata"] = {"reason": decisions[0].reason}
        return answer

    def blame(self, errors: Iterable[Mapping[str, str]]) -> None:
        """Show the errors of the host's check; its paths are those of the framework's payload."""
        for error in errors:
            self.add_error(None, error["message"][:1].upper() + error["message"][1:])

    def _check_whole(self, choice: Choice) -> None:
        """An empty field for all arguments would call the action without any."""
        for name, part in choice.parts.items():
            value = self.cleaned_data.get(name)
            if part.name is None and name not in self.errors and not isinstance(value, dict):
                self.add_error(name, "Write the arguments as a JSON object.")

    def _kind(self, choice: Choice) -> str:
        if self._pressed != EACH:
            return self._pressed
        return str(self.cleaned_data.get(choice.decided) or "")

    def _decision(self, choice: Choice) -> Decision:
        kind = self._kind(choice)
        if kind == REJECT:
            return Decision(approved=False, reason=self._text(choice.reason))
        return Decision(approved=True, arguments=self._edited(choice) if kind == EDIT else None)

    def _text(self, name: str) -> str:
        return str(self.cleaned_data.get(name) or "").replace("\r\n", "\n").strip()

    def _edited(self, choice: Choice) -> dict[str, Any]:
        arguments = dict(choice.action.arguments or {})
        for name, part in choice.parts.items():
            value = value_of(part, self.cleaned_data.get(name))
            if part.name is None:
                return dict(value)
            arguments.pop(part.name, None)
            if value is not ABSENT:
                arguments[part.name] = value
        return arguments


def form_of(question: Interrupt, approval: Approval | None, data: QueryDict | None) -> AnswerForm:
    """The form of a question: that of an approval, or the form that its schema describes."""
    if approval is None or approval.by_schema:
        return AnswerForm(question, data)
    return DecisionForm(question, approval, data)


def outcome(approval: Approval, answer: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The word for an answer to a framework's approval, and what else there is to read in it."""
    verdict = "Approve" if table.verdict(answer) else "Reject"
    entries = [("Reason", reason)] if (reason := table.reason_of(answer)) else []
    payload = answer.get("payload")
    plain = isinstance(payload, bool) or payload == _plainly(approval, verdict)
    return verdict, entries if plain or reason else [("Answer", indented(payload))]


def _plainly(approval: Approval, verdict: str) -> Any:
    try:
        return approval.payload_for_all(Decision(approved=verdict == "Approve"))
    except Undecidable:
        return None


def size_of(approval: Approval | None) -> int:
    """About how many fields the form of an approval has, as a measure of its cost."""
    if approval is None or approval.by_schema:
        return MOST_PARTS
    number, arguments = len(approval.actions), _number_of_arguments(approval)
    return 2 * number + (number if arguments > MOST_ARGUMENTS else arguments)


def _number_of_arguments(approval: Approval) -> int:
    """The number of arguments that the actions propose for changes."""
    editable = (action.arguments or {} for action in approval.actions if action.editable)
    return sum(min(len(arguments), MOST_PARTS) for arguments in editable)


def _parts(action: Action, *, as_json: bool) -> list[Part]:
    """A field for each proposed argument, by the kind of its value; one for all beyond 30."""
    arguments = action.arguments or {}
    short = {
        name: value for name, value in arguments.items() if len(indented(value)) < CUT
    }  # A longer one stays as it is.
    if as_json or not 0 < len(short) <= MOST_PARTS:
        whole = {"title": "Arguments", "default": arguments}
        return parts_of(whole) if len(short) == len(arguments) else []
    properties = {
        name: {"title": name, "default": value} | _kind_of(value) for name, value in short.items()
    }
    return parts_of({"type": "object", "properties": properties, "required": list(properties)})


def _kind_of(value: Any) -> dict[str, str]:
    kind = KINDS.get(type(value))
    return {} if kind is None else {"type": kind}
