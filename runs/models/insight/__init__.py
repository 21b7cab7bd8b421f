"""The content of runs that have ended: their tool calls, and the issues of failed ones."""

from runs.models.insight.issue import Issue, IssueNote, IssueRun
from runs.models.insight.tool_call import Called, ToolCall
from runs.models.insight.tool_day import ToolChange, ToolDay
from runs.models.insight.unread import UnreadRun

__all__ = [
    "Called",
    "Issue",
    "IssueNote",
    "IssueRun",
    "ToolCall",
    "ToolChange",
    "ToolDay",
    "UnreadRun",
]
