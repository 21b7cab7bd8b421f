"""Alpine's operations in the API's description."""

from agui_host.web.addresses.operation import FRAMES, KEY, Operation, as_json
from agui_host.web.addresses.shapes import (
    ANYTHING,
    FLAG,
    NULLABLE_TEXT,
    UUID,
    WHOLE,
    Json,
    members,
    ref,
    text,
)

OPERATIONS = (
    Operation("post", "/agents/run", "alpine_run", "Start a run as Alpine's clients do.",
              as_json("AlpineRun", 202), ref("AlpineStart"), headers=KEY, tag="alpine"),
    Operation("post", "/agents/answer", "alpine_answer", "Answer a question of a run.",
              as_json("AlpineRun", 202), ref("AlpineAnswer"), tag="alpine"),
    Operation("get", "/runs/{run_id}/events", "alpine_events", "A run as Alpine's named events.",
              {200: FRAMES, 204: {}}, query={"after": WHOLE, "schema": text(),
              "capabilities": text()}, headers=("Last-Event-ID",), tag="alpine"),
)  # fmt: skip
SHAPES: dict[str, Json] = {
    "AlpineStart": members(
        task=text("This or github_issue_url is needed."),
        github_issue_url=text(),
        agent=text(),
        thread_id=text(),
        worktree_dir=text(),
        plan_mode=FLAG,
        stream_events=FLAG,
        enable_ag_ui=FLAG,
    ),
    "AlpineAnswer": members(
        "run_id",
        "request_id",
        run_id=UUID,
        request_id=text(),
        status={"enum": ["resolved", "cancelled"], "type": "string"},
        payload=ANYTHING,
    ),
    "AlpineRun": members(
        "status", run_id=NULLABLE_TEXT, status=text(), ag_ui_stream=NULLABLE_TEXT
    ),
}  # fmt: skip
