from csp.decorators import csp_update
from django.urls import URLPattern, path

from agui_host.dashboard import acting, shared, views
from agui_host.dashboard.account import urls as account_urls
from agui_host.dashboard.agents import editing
from agui_host.dashboard.agents import views as agents
from agui_host.dashboard.alerts import views as alerts
from agui_host.dashboard.evaluation import views as evaluation
from agui_host.dashboard.inbox import device, mailed, turns
from agui_host.dashboard.inbox import views as questions
from agui_host.dashboard.insight import calls, issues
from agui_host.dashboard.manual import views as manual
from agui_host.dashboard.operator import views as operator
from agui_host.dashboard.overview import budgets
from agui_host.dashboard.overview import views as overview
from agui_host.dashboard.run import comparing, importing
from agui_host.dashboard.runs_list import bulk, saved
from agui_host.dashboard.team import (
    audit,
    grants,
    keys,
    left_threads,
    people,
    rules,
    schedules,
    sign_in,
    webhooks,
)
from agui_host.dashboard.thread import views as thread
from runs.api.comments import SharedComments
from runs.api.inspect.outline import SharedOutline

# Messages can contain pictures themselves; nothing runs in an ``img``.
PICTURES = {"img-src": ["data:"]}

urlpatterns: list[URLPattern] = [
    path("", overview.home, name="home"),
    path("docs/", manual.page, name="manual"),
    path("docs/<path:name>", manual.page, name="manual-page"),
    path("usage/", overview.spending, name="usage"),
    path("usage/prices", overview.set_prices, name="usage-prices"),
    path("agents/", agents.listing, name="agents"),
    # Without a slash, as an agent can be called connect.
    path("agents/connect", editing.connect, name="agent-connect"),
    path("agents/<slug:slug>/", agents.detail, name="agent"),
    path("agents/<slug:slug>/try", agents.try_it, name="agent-try"),
    path("agents/<slug:slug>/test", editing.test, name="agent-test"),
    path("agents/<slug:slug>/change", editing.change, name="agent-change"),
    path("agents/<slug:slug>/switch", agents.switch, name="agent-switch"),
    path("agents/<slug:slug>/remove", agents.remove, name="agent-remove"),
    path("issues/", issues.listing, name="issues"),
    path("issues/<uuid:issue_id>/", issues.issue, name="issue"),
    path("issues/<uuid:issue_id>/change", issues.change, name="issue-change"),
    path("tool-calls/", calls.tool_calls, name="tool-calls"),
    path("budgets/", budgets.listing, name="budgets"),
    path("budgets/<uuid:budget_id>/change", budgets.change, name="budget-change"),
    path("budgets/<uuid:budget_id>/remove", budgets.remove, name="budget-remove"),
    path("alerts/", alerts.listing, name="alerts"),
    path("alerts/<uuid:alert_id>/", alerts.detail, name="alert"),
    path("alerts/<uuid:alert_id>/snooze", alerts.snooze, name="alert-snooze"),
    path("alerts/<uuid:alert_id>/switch", alerts.switch, name="alert-switch"),
    path("alerts/<uuid:alert_id>/remove", alerts.remove, name="alert-remove"),
    path("datasets/", evaluation.listing, name="data-sets"),
    path("datasets/<uuid:data_set_id>/", evaluation.detail, name="data-set"),
    path("datasets/<uuid:data_set_id>/add", evaluation.add, name="data-set-add"),
    path("datasets/<uuid:data_set_id>/label", evaluation.label, name="data-set-label"),
    path("datasets/<uuid:data_set_id>/try", evaluation.try_again, name="data-set-try"),
    path("datasets/<uuid:data_set_id>/export", evaluation.export, name="data-set-export"),
    path("datasets/<uuid:data_set_id>/remove", evaluation.remove, name="data-set-remove"),
    path("trials/<uuid:trial_id>/", evaluation.trial, name="trial"),
    path("trials/<uuid:trial_id>/continue", evaluation.go_on, name="trial-continue"),
    path("runs/", views.runs, name="runs"),
    path("runs/import", importing.import_run, name="run-import"),
    path("runs/pulse", views.pulse, name="runs-pulse"),
    path("runs/act", bulk.act, name="runs-act"),
    path("runs/views", saved.save, name="runs-views"),
    path("runs/views/<uuid:view_id>/rename", saved.rename, name="runs-view-rename"),
    path("runs/views/<uuid:view_id>/remove", saved.remove, name="runs-view-remove"),
    # The types of csp_update allow a view no argument but the request.
    path("runs/<uuid:run_id>/", csp_update(PICTURES)(views.run), name="run"),  # type: ignore[arg-type]
    path("runs/<uuid:run_id>/events", views.run_of_events),
    path("runs/<uuid:run_id>/cancel", acting.cancel, name="run-cancel"),
    path("runs/<uuid:run_id>/again", acting.run_again, name="run-again"),
    path("runs/<uuid:run_id>/continue", acting.go_on, name="run-continue"),
    path("runs/<uuid:run_id>/say", acting.say, name="run-say"),
    path("runs/<uuid:run_id>/change", acting.change, name="run-change"),
    path("runs/<uuid:run_id>/compare", comparing.compare, name="run-compare"),
    path("runs/<uuid:run_id>/questions", questions.of_run, name="run-questions"),
    path("runs/<uuid:run_id>/input", views.run_input, name="run-input"),
    path("threads/<uuid:key>/", csp_update(PICTURES)(thread.thread), name="thread"),  # type: ignore[arg-type]
    path("threads/<uuid:key>/earlier", thread.earlier, name="thread-earlier"),
    path("threads/<uuid:key>/pulse", thread.pulse, name="thread-pulse"),
    path("threads/<uuid:key>/send", thread.send, name="thread-send"),
    path("threads/<uuid:key>/regenerate", thread.regenerate, name="thread-regenerate"),
    path("threads/<uuid:key>/rate", thread.rate, name="thread-rate"),
    path("threads/<uuid:key>/comment", thread.comment, name="thread-comment"),
    path("threads/<uuid:key>/change", thread.change, name="thread-change"),
    path("clock", views.clock, name="clock"),
    path("unsent/", views.unsent_form, name="unsent"),
    path("inbox/", questions.listing, name="inbox"),
    path("manifest.webmanifest", device.manifest, name="manifest"),
    path("service-worker.js", device.service_worker),
    path("inbox/push", device.turn_on, name="push-on"),
    path("inbox/push/off", device.turn_off, name="push-off"),
    path("inbox/mail", mailed.choose, name="mail-choice"),
    path("inbox/mail/<str:token>/", mailed.question, name="mailed"),
    path("inbox/pulse", questions.pulse, name="inbox-pulse"),
    path("inbox/mentions/", questions.mentions_of_me, name="mentions"),
    path("inbox/count", questions.count, name="inbox-count"),
    path("inbox/<uuid:interrupt_id>/claim", turns.claim, name="inbox-claim"),
    path("inbox/<uuid:interrupt_id>/snooze", turns.snooze, name="inbox-snooze"),
    path("inbox/<uuid:interrupt_id>/answer", questions.answer, name="inbox-answer"),
    path("shared/<str:token>/", csp_update(PICTURES)(shared.link), name="shared"),
    path(
        "shared/<str:token>/runs/<uuid:run_id>/",
        csp_update(PICTURES)(shared.run),
        name="shared-run",
    ),
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
    path("operator/", operator.index, name="operator"),
    path("operator/teams/<slug:slug>/", operator.team, name="operator-team"),
    path("operator/people/<int:person_id>/close", operator.close, name="operator-close"),
    path("operator/people/<int:person_id>/open", operator.reopen, name="operator-open"),
    path(
        "operator/people/<int:person_id>/forget-factors",
        operator.forget_factors,
        name="operator-forget-factors",
    ),
    path("team/", people.team, name="team"),
    path("team/switch", people.switch, name="team-switch"),
    path("team/invitations", people.invite, name="team-invite"),
    path("team/invitations/<uuid:invitation_id>/revoke", people.revoke, name="team-revoke"),
    path("team/members/<int:member_id>/role", people.change_role, name="team-member"),
    path("team/members/<int:member_id>/remove", people.remove, name="team-remove"),
    path("team/threads/", left_threads.listing, name="team-left-threads"),
    path(
        "team/threads/<uuid:key>/hand-over",
        left_threads.hand_over,
        name="team-left-thread-hand-over",
    ),
    path("team/threads/<uuid:key>/erase", left_threads.erase, name="team-left-thread-erase"),
    path("team/sign-in/", sign_in.sign_in, name="team-sign-in"),
    path("team/sign-in/<uuid:rule_id>/remove", sign_in.remove, name="team-group-rule-remove"),
    path("team/rules", rules.change, name="team-rules"),
    path("team/keys/", keys.keys, name="team-keys"),
    path("team/keys/<uuid:key_id>/rotate", keys.rotate, name="team-key-rotate"),
    path("team/keys/<uuid:key_id>/end-users", keys.end_users, name="team-key-end-users"),
    path("team/keys/<uuid:key_id>/revoke", keys.revoke, name="team-key-revoke"),
    path("team/webhooks/", webhooks.listing, name="team-webhooks"),
    path("team/webhooks/<uuid:webhook_id>/", webhooks.detail, name="team-webhook"),
    path("team/webhooks/<uuid:webhook_id>/rotate", webhooks.rotate, name="team-webhook-rotate"),
    path("team/webhooks/<uuid:webhook_id>/switch", webhooks.switch, name="team-webhook-switch"),
    path("team/webhooks/<uuid:webhook_id>/test", webhooks.send_test, name="team-webhook-test"),
    path("team/webhooks/<uuid:webhook_id>/remove", webhooks.remove, name="team-webhook-remove"),
    path(
        "team/webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver",
        webhooks.redeliver,
        name="team-webhook-redeliver",
    ),
    path("team/schedules/", schedules.listing, name="team-schedules"),
    path("team/schedules/<uuid:schedule_id>/", schedules.detail, name="team-schedule"),
    path("team/schedules/<uuid:schedule_id>/switch", schedules.switch, name="team-schedule-switch"),
    path("team/schedules/<uuid:schedule_id>/run", schedules.run_now, name="team-schedule-run"),
    path("team/schedules/<uuid:schedule_id>/remove", schedules.remove, name="team-schedule-remove"),
    path("team/shared/", grants.grants, name="team-shared"),
    path("team/received/", grants.received, name="team-received"),
    path("team/audit/", audit.log, name="team-audit"),
    path("team/shared/<uuid:grant_id>/revoke", grants.revoke, name="team-grant-revoke"),
    path("invitations/<str:token>/", people.invitation, name="invitation"),
    path("login", views.with_slash),
    path("signup", views.with_slash),
    path("inbox", views.with_slash),
    path("team", views.with_slash),
    path("runs", views.with_slash),
    path("usage", views.with_slash),
    path("agents", views.with_slash),
    path("issues", views.with_slash),
    path("tool-calls", views.with_slash),
    path("budgets", views.with_slash),
    path("alerts", views.with_slash),
    path("datasets", views.with_slash),
    path("docs", views.with_slash),
    path("runs/<uuid:run_id>", views.with_slash),
    path("threads/<uuid:key>", views.with_slash),
    *account_urls.urlpatterns,
]
