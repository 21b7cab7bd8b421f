from django.urls import path

from agui_host.teams.api import (
    audit,
    group_rules,
    invitations,
    keys,
    members,
    openapi,  # noqa: F401  (registers itself with drf-spectacular)
    sessions,
)

urlpatterns = [
    path("audit", audit.AuditList.as_view(), name="api-audit"),
    path("audit.csv", audit.AuditCsv.as_view(), name="api-audit-csv"),
    path("audit.ndjson", audit.AuditNdjson.as_view(), name="api-audit-ndjson"),
    path("domains", group_rules.DomainList.as_view(), name="api-domains"),
    path("group-rules", group_rules.GroupRuleList.as_view(), name="api-group-rules"),
    path(
        "group-rules/<uuid:rule_id>",
        group_rules.GroupRuleDetail.as_view(),
        name="api-group-rule",
    ),
    path("keys", keys.KeyList.as_view(), name="api-keys"),
    path("keys/<uuid:key_id>", keys.KeyDetail.as_view(), name="api-key"),
    path("keys/<uuid:key_id>/rotate", keys.KeyRotate.as_view(), name="api-key-rotate"),
    path("keys/<uuid:key_id>/revoke", keys.KeyRevoke.as_view(), name="api-key-revoke"),
    path(
        "keys/<uuid:key_id>/end_user_secret",
        keys.KeyEndUserSecret.as_view(),
        name="api-key-end-user-secret",
    ),
    path("members", members.MemberList.as_view(), name="api-members"),
    path("members/<int:member_id>", members.MemberDetail.as_view(), name="api-member"),
    path("sessions", sessions.SessionList.as_view(), name="api-sessions"),
    path("sessions/<int:session_id>", sessions.SessionDetail.as_view(), name="api-session"),
    path("teams", members.TeamList.as_view(), name="api-teams"),
    path("teams/<uuid:team_id>", members.TeamDetail.as_view(), name="api-team"),
    path(
        "teams/<uuid:team_id>/archive",
        members.TeamArchive.as_view(),
        name="api-team-archive",
    ),
    path("invitations", invitations.InvitationList.as_view(), name="api-invitations"),
    path(
        "invitations/<uuid:invitation_id>/revoke",
        invitations.InvitationRevoke.as_view(),
        name="api-invitation-revoke",
    ),
]
