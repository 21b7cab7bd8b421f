from django.urls import path

from runs.api.insight import calls, issues

urlpatterns = [
    path("tool-calls", calls.ToolCallList.as_view(), name="api-tool-calls"),
    path("issues", issues.IssueList.as_view(), name="api-issues"),
    path("issues/<uuid:issue_id>", issues.IssueDetail.as_view(), name="api-issue"),
]
