from django.urls import URLPattern, path

from dashboard import acting, shared, views
from dashboard.account import urls as account_urls
from dashboard.inbox import views as questions
from dashboard.team import grants, keys, people, rules
from runs.api.comments import SharedComments
from runs.api.inspect.outline import SharedOutline

urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("runs/", views.runs, name="runs"),
    path("runs/pulse", views.pulse, name="runs-pulse"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/events", views.run_of_events),
    path("runs/<uuid:run_id>/cancel", acting.cancel, name="run-cancel"),
    path("runs/<uuid:run_id>/again", acting.run_again, name="run-again"),
    path("runs/<uuid:run_id>/questions", questions.of_run, name="run-questions"),
    path("runs/<uuid:run_id>/input", views.run_input, name="run-input"),
    path("inbox/", questions.listing, name="inbox"),
    path("inbox/pulse", questions.pulse, name="inbox-pulse"),
    path("inbox/<uuid:interrupt_id>/answer", questions.answer, name="inbox-answer"),
    path("shared/<str:token>/", shared.link, name="shared"),
    path("shared/<str:token>/runs/<uuid:run_id>/", shared.run, name="shared-run"),
    path("shared/<str:token>/runs/<uuid:run_id>/status", shared.status, name="shared-status"),
    path(
        "shared/<str:token>/runs/<uuid:run_id>/comments",
        SharedComments.as_view(),
        name="shared-comments",
    ),
    path(
        "shared/<str:token>/runs/<uuid:run_id>/outline",
        SharedOutline.as_view(),
        name="shared-outline",
    ),
    path("team/", people.team, name="team"),
    path("team/switch", people.switch, name="team-switch"),
    path("team/invitations", people.invite, name="team-invite"),
    path("team/invitations/<uuid:invitation_id>/revoke", people.revoke, name="team-revoke"),
    path("team/members/<int:member_id>/role", people.change_role, name="team-member"),
    path("team/members/<int:member_id>/remove", people.remove, name="team-remove"),
    path("team/rules", rules.change, name="team-rules"),
    path("team/keys/", keys.keys, name="team-keys"),
    path("team/keys/<uuid:key_id>/rotate", keys.rotate, name="team-key-rotate"),
    path("team/keys/<uuid:key_id>/revoke", keys.revoke, name="team-key-revoke"),
    path("team/shared/", grants.grants, name="team-shared"),
    path("team/shared/<uuid:grant_id>/revoke", grants.revoke, name="team-grant-revoke"),
    path("invitations/<str:token>/", people.invitation, name="invitation"),
    path("login", views.with_slash),
    path("signup", views.with_slash),
    path("inbox", views.with_slash),
    path("team", views.with_slash),
    path("runs", views.with_slash),
    path("runs/<uuid:run_id>", views.with_slash),
    *account_urls.urlpatterns,
]
