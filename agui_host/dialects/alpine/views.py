"""POST /agents/run and /agents/answer: Alpine's clients start and answer runs here."""

import re
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.dialects.alpine.asking import KEY
from agui_host.errors import NotFound
from agui_host.kinds import starts
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.fields import rename, wrong
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.teams.authentication import principal_of
from runs.access import access, start
from runs.api.interrupts import AnswerSerializer
from runs.lifecycle import interrupts
from runs.models import Run, Status

ISSUE = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/issues/[0-9]+(?:[/?#]\S*)?")
NAMES = {
    "githubIssueUrl": "github_issue_url",
    "enableAgUi": "enable_ag_ui",
    "streamEvents": "stream_events",
    "planMode": "plan_mode",
    "plan": "plan_mode",
    "agentId": "agent",
    "agent_id": "agent",
    "threadId": "thread_id",
    "worktreeDir": "worktree_dir",
    "runId": "run_id",
    "requestId": "request_id",
}
PLAN_FIRST = "Make a plan first and show it; change nothing yet."
WORDS = {Status.SUCCEEDED: "completed"}


class AlpineAnswerSerializer(AnswerSerializer):
    """``run_id`` and ``request_id`` are ``runId`` and ``requestId`` of the question's event."""

    run_id = serializers.UUIDField()
    request_id = serializers.JSONField(help_text="A string; agents can put anything into it.")
    status = serializers.ChoiceField(["resolved", "cancelled"], default="resolved")


@starts
@extend_schema(exclude=True)
class AlpineRun(APIView):
    """Starts a run as Alpine does."""

    def post(self, request: Request) -> Response:
        """Start a run of the named agent, else of the team's default."""
        run_request, streams = read(request.data)
        key = request.headers.get("Idempotency-Key")
        run = start.start_run(principal_of(request), run_request, key=key).run
        return _shown(run, streams=streams)


@starts
@extend_schema(exclude=True)
class AlpineAnswer(APIView):
    """Answers a question as Alpine does."""

    def post(self, request: Request) -> Response:
        """Answer the question ``requestId`` of a run; the last answer starts the next run."""
        if not isinstance(request.data, dict):
            raise BadRequest('Send {"run_id", "request_id", "payload"}.')
        # Alpine's clients send members of other hosts; only the named ones count here.
        names = AlpineAnswerSerializer().fields
        members = {n: value for n, value in rename(request.data, NAMES).items() if n in names}
        fields, principal = AlpineAnswerSerializer.read_data(members), principal_of(request)
        run = access.find(principal, fields["run_id"])
        key = interrupts.asked_by(run, str(fields["request_id"]))
        if key is None:
            raise NotFound("This run did not ask that question.")
        return _shown(start.answer(principal, key, fields), streams=True)


def _shown(run: Run | None, *, streams: bool) -> Response:
    """The run and its stream; all null while an answered run waits for other answers."""
    streams = streams and settings.ALPINE_AG_UI_ENABLED
    members = {
        "run_id": str(run.pk) if run else None,
        "status": _status(run) if run else "interrupted",
        "ag_ui_stream": f"/runs/{run.pk}/events" if run and streams else None,
    }
    return Response(members, status=202)


def read(data: Any) -> tuple[RunRequest, bool]:
    """The request, and whether the client wants the stream's URL. Raises Invalid."""
    if not isinstance(data, dict):
        raise BadRequest('Send {"task": …} or {"github_issue_url": …}.')
    data = rename(data, NAMES)
    task, issue = _text(data, "task"), _text(data, "github_issue_url")
    if not task and not issue:
        raise Invalid("Send a task or a github_issue_url.", details={"path": "task"})
    if issue and not ISSUE.fullmatch(issue):
        raise wrong("github_issue_url", "https://github.com/{owner}/{repo}/issues/{number}")
    plan_mode = _flag(data, "plan_mode", default=False)
    words = [task, f"Work on this GitHub issue: {issue}" if issue else ""]
    words += [PLAN_FIRST if plan_mode else ""]
    props: dict[str, Any] = {"task": task or issue, "planMode": plan_mode}
    if issue:
        props["githubIssueUrl"] = issue
    if folder := _text(data, "worktree_dir"):
        props["worktreeDir"] = folder
    body = {
        "threadId": data.get("thread_id"),
        "messages": [{"role": "user", "content": "\n\n".join(filter(None, words))}],
        "forwardedProps": {KEY: props},
    }
    enabled = _flag(data, "enable_ag_ui", default=True)
    streams = _flag(data, "stream_events", default=True)
    agent, digest = _text(data, "agent") or None, run_agent_input.digest_of("agents/run", data)
    return run_agent_input.parse(body, agent=agent, digest=digest), enabled and streams


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str | None):
        raise wrong(name, "a string")
    return (value or "").strip()


def _flag(data: dict[str, Any], name: str, *, default: bool) -> bool:
    value = data.get(name)
    if not isinstance(value, bool | None):
        raise wrong(name, "true or false")
    return default if value is None else value


def _status(run: Run) -> str:
    # ``running`` includes runs handed to a worker; ``queued`` ones wait for their turn.
    if run.status == Status.QUEUED and run.stamp is not None:
        return "running"
    return str(WORDS.get(Status(run.status), run.status))
