"""The addresses where people sign in and meet: what each answers to whom (see ``doors``)."""

from tests.tenancy.doors import (
    FORGED,
    FORM,
    GONE,
    LIST,
    MOVED,
    OBJECT,
    OPEN,
    PAGE,
    RUN_PAGE,
    Door,
    Who,
)

ENTRANCE = {"GET": Who(200, 200, 302, 302), "POST": FORGED}
"""For those who have not signed in."""
OWN = {"GET": Who(302, 401, 200, 200), "POST": FORGED}
"""About one's own account."""
OWN_AGAIN = {"GET": Who(302, 401, 302, 302), "POST": FORGED}
"""About one's own account, which asks for the password once more, or leads elsewhere."""
NO_PASSWORD = {"GET": Who(302, 401, 403, 403), "POST": FORGED}
NO_FACTOR = {"GET": Who(302, 401, 404, 404), "POST": FORGED}
"""The cast has neither."""
ALL = {"GET": Who(200, 200, 200, 200), "POST": FORGED}
MOVED_ALL = {"GET": Who(302, 401, 302, 302), "POST": FORGED}
TOKEN = "no-such-token"
SCIM_BODY = {
    "userName": "dora@example.com",
    "displayName": "crew",
    "Operations": [{"op": "replace", "path": "active", "value": True}],
}

PEOPLE: dict[str, Door] = {
    # Operators' keys only: tests/apply/test_operator_api.py.
    "api/v1/operator/host": Door(
        {"GET": Who(401, 401, 401, 401), "POST": Who(401, 401, 401, 401)}, body={"teams": {}}
    ),
    "api/v1/operator/people/<str:login>": Door(
        dict.fromkeys(("GET", "PATCH", "DELETE"), Who(401, 401, 401, 401)),
        "api/v1/operator/people/bob",
    ),
    "api/v1/operator/plan": Door({"POST": Who(401, 401, 401, 401)}, body={"teams": {}}),
    "agents": Door({"GET": MOVED}),
    "agents/": Door({"GET": PAGE}),
    "agents/connect": Door({"GET": PAGE, "POST": FORGED}),
    "agents/<slug:slug>/": Door({"GET": RUN_PAGE}, "agents/far/"),
    "agents/<slug:slug>/try": Door(FORM, "agents/far/try"),
    "agents/<slug:slug>/test": Door(FORM, "agents/far/test"),
    "agents/<slug:slug>/change": Door({"GET": RUN_PAGE, "POST": FORGED}, "agents/far/change"),
    "agents/<slug:slug>/switch": Door(FORM, "agents/far/switch"),
    "agents/<slug:slug>/remove": Door(FORM, "agents/far/remove"),
    "login": Door({"GET": MOVED}),
    "login/": Door(ENTRANCE),
    "logout/": Door(FORM),
    "signup": Door({"GET": Who(301, 301, 301, 301)}),
    "signup/": Door(ENTRANCE),
    "team": Door({"GET": MOVED}),
    "team/": Door({"GET": PAGE}),
    "threads/<uuid:key>": Door({"GET": MOVED}, "threads/{thread}"),
    "threads/<uuid:key>/": Door({"GET": RUN_PAGE}, "threads/{thread}/"),
    "threads/<uuid:key>/earlier": Door({"GET": RUN_PAGE}, "threads/{thread}/earlier"),
    "threads/<uuid:key>/pulse": Door(
        {"GET": RUN_PAGE}, "threads/{thread}/pulse?turn={run}.x&newest={run}"
    ),
    "threads/<uuid:key>/send": Door(FORM, "threads/{thread}/send"),
    "threads/<uuid:key>/regenerate": Door(FORM, "threads/{thread}/regenerate"),
    "runs/<uuid:run_id>/label": Door(FORM, "runs/{run}/label"),
    "threads/<uuid:key>/rate": Door(FORM, "threads/{thread}/rate"),
    "threads/<uuid:key>/comment": Door(FORM, "threads/{thread}/comment"),
    "threads/<uuid:key>/change": Door(FORM, "threads/{thread}/change"),
    "inbox/count": Door({"GET": PAGE}),
    "inbox/mail": Door(FORM),
    "inbox/mentions/": Door({"GET": PAGE}),
    "inbox/<uuid:interrupt_id>/claim": Door(FORM, "inbox/{question}/claim"),
    "inbox/<uuid:interrupt_id>/snooze": Door(FORM, "inbox/{question}/snooze"),
    "api/v1/interrupts/<uuid:interrupt_id>/claim": Door(
        {"POST": OBJECT}, "api/v1/interrupts/{question}/claim", body={}
    ),
    "api/v1/interrupts/<uuid:interrupt_id>/snooze": Door(
        {"POST": OBJECT}, "api/v1/interrupts/{question}/snooze", body={"until": None}
    ),
    "inbox/mail/<str:token>/": Door({"GET": GONE, "POST": FORGED}, f"inbox/mail/{TOKEN}/"),
    "inbox/push": Door(FORM),
    "inbox/push/off": Door(FORM),
    "manifest.webmanifest": Door({"GET": OPEN}),
    "service-worker.js": Door({"GET": OPEN}),
    "runs/act": Door(FORM),
    "runs/views": Door(FORM),
    "runs/views/<uuid:view_id>/rename": Door(FORM, "runs/views/{view}/rename"),
    "runs/views/<uuid:view_id>/remove": Door(FORM, "runs/views/{view}/remove"),
    "team/switch": Door(FORM),
    "clock": Door(FORM),
    "unsent/": Door({"GET": Who(302, 401, 302, 302)}),
    "team/invitations": Door(FORM),
    "team/invitations/<uuid:invitation_id>/revoke": Door(
        FORM, "team/invitations/{invitation}/revoke"
    ),
    "team/members/<int:member_id>/role": Door(FORM, "team/members/{member}/role"),
    "team/members/<int:member_id>/remove": Door(
        {"GET": Who(302, 401, 404, 200), "POST": FORGED}, "team/members/{member}/remove"
    ),
    "team/keys/": Door({"GET": PAGE, "POST": FORGED}),
    "api/v1/keys/<uuid:key_id>/end_user_secret": Door(
        {"POST": Who(401, 401, 404, 201), "DELETE": Who(401, 401, 404, 204)},
        "api/v1/keys/{apikey}/end_user_secret",
    ),
    "team/keys/<uuid:key_id>/rotate": Door(FORM, "team/keys/{apikey}/rotate"),
    "team/keys/<uuid:key_id>/end-users": Door(FORM, "team/keys/{apikey}/end-users"),
    "team/keys/<uuid:key_id>/revoke": Door(FORM, "team/keys/{apikey}/revoke"),
    "team/webhooks/": Door({"GET": PAGE, "POST": FORGED}),
    "team/webhooks/<uuid:webhook_id>/": Door(
        {"GET": Who(302, 401, 404, 200)}, "team/webhooks/{webhook}/"
    ),
    "team/webhooks/<uuid:webhook_id>/rotate": Door(FORM, "team/webhooks/{webhook}/rotate"),
    "team/webhooks/<uuid:webhook_id>/switch": Door(FORM, "team/webhooks/{webhook}/switch"),
    "team/webhooks/<uuid:webhook_id>/test": Door(FORM, "team/webhooks/{webhook}/test"),
    "team/webhooks/<uuid:webhook_id>/remove": Door(FORM, "team/webhooks/{webhook}/remove"),
    "team/webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver": Door(
        FORM, "team/webhooks/{webhook}/deliveries/{delivery}/redeliver"
    ),
    "team/schedules/": Door({"GET": PAGE, "POST": FORGED}),
    "team/schedules/<uuid:schedule_id>/": Door(
        {"GET": Who(302, 401, 404, 200)}, "team/schedules/{schedule}/"
    ),
    "team/schedules/<uuid:schedule_id>/switch": Door(FORM, "team/schedules/{schedule}/switch"),
    "team/schedules/<uuid:schedule_id>/run": Door(FORM, "team/schedules/{schedule}/run"),
    "team/schedules/<uuid:schedule_id>/remove": Door(FORM, "team/schedules/{schedule}/remove"),
    "team/knowledge/": Door({"GET": PAGE, "POST": FORGED}),
    "team/documents/<uuid:document_id>/remove": Door(FORM, "team/documents/{document}/remove"),
    "team/notes/<uuid:note_id>/remove": Door(FORM, "team/notes/{wisdom}/remove"),
    "team/received/": Door({"GET": PAGE}),
    "team/audit/": Door({"GET": PAGE}),
    "alerts": Door({"GET": MOVED}),
    "alerts/": Door({"GET": PAGE, "POST": FORGED}),
    "alerts/<uuid:alert_id>/": Door({"GET": Who(302, 401, 404, 200)}, "alerts/{alert}/"),
    "alerts/<uuid:alert_id>/snooze": Door(FORM, "alerts/{alert}/snooze"),
    "alerts/<uuid:alert_id>/switch": Door(FORM, "alerts/{alert}/switch"),
    "alerts/<uuid:alert_id>/remove": Door(FORM, "alerts/{alert}/remove"),
    "datasets": Door({"GET": MOVED}),
    "datasets/": Door({"GET": PAGE, "POST": FORGED}),
    "datasets/<uuid:data_set_id>/": Door({"GET": RUN_PAGE}, "datasets/{dataset}/"),
    "datasets/<uuid:data_set_id>/export": Door({"GET": RUN_PAGE}, "datasets/{dataset}/export"),
    **{
        f"datasets/<uuid:data_set_id>/{act}": Door(FORM, f"datasets/{{dataset}}/{act}")
        for act in ("add", "label", "try", "remove")
    },
    "trials/<uuid:trial_id>/": Door({"GET": RUN_PAGE}, "trials/{trial}/"),
    "trials/<uuid:trial_id>/continue": Door(FORM, "trials/{trial}/continue"),
    "budgets": Door({"GET": MOVED}),
    "budgets/": Door({"GET": PAGE, "POST": FORGED}),
    "budgets/<uuid:budget_id>/change": Door(FORM, "budgets/{budget}/change"),
    "budgets/<uuid:budget_id>/remove": Door(FORM, "budgets/{budget}/remove"),
    "team/shared/": Door({"GET": PAGE}),
    "team/shared/<uuid:grant_id>/revoke": Door(FORM, "team/shared/{grant}/revoke"),
    # Operators' sessions only: tests/dashboard/operators/test_operator_pages.py.
    "operator/": Door({"GET": Who(302, 401, 404, 404)}),
    "operator/teams/<slug:slug>/": Door(
        {"GET": Who(302, 401, 404, 404), "POST": FORGED}, "operator/teams/acme/"
    ),
    "operator/people/<int:person_id>/close": Door(FORM, "operator/people/1/close"),
    "operator/people/<int:person_id>/open": Door(FORM, "operator/people/1/open"),
    "operator/people/<int:person_id>/forget-factors": Door(
        FORM, "operator/people/1/forget-factors"
    ),
    "account/data/": Door({"GET": Who(302, 401, 200, 200)}),
    "account/data/export": Door({"GET": Who(302, 401, 200, 200)}),
    "team/rules": Door(FORM),
    "team/settings/": Door({"GET": PAGE, "POST": FORGED}),
    "team/sign-in/": Door({"GET": PAGE, "POST": FORGED}),
    "team/sign-in/<uuid:rule_id>/remove": Door(FORM, "team/sign-in/{rule}/remove"),
    # Of one's own directory: tests/scim/test_directories.py.
    "scim/v2/Users": Door({"GET": LIST, "POST": Who(401, 401, 400, 400)}, body={}),
    "scim/v2/Users/<uuid:key>": Door(
        dict.fromkeys(("GET", "PUT", "PATCH", "DELETE"), Who(401, 401, 404, 404)),
        "scim/v2/Users/{run}",
        body=SCIM_BODY,
    ),
    "scim/v2/Groups": Door({"GET": LIST, "POST": Who(401, 401, 400, 400)}, body={}),
    "scim/v2/Groups/<uuid:key>": Door(
        dict.fromkeys(("GET", "PUT", "PATCH", "DELETE"), Who(401, 401, 404, 404)),
        "scim/v2/Groups/{run}",
        body=SCIM_BODY,
    ),
    "scim/v2/ServiceProviderConfig": Door({"GET": LIST}),
    "scim/v2/ResourceTypes": Door({"GET": LIST}),
    "scim/v2/ResourceTypes/<str:name>": Door({"GET": LIST}, "scim/v2/ResourceTypes/User"),
    "scim/v2/Schemas": Door({"GET": LIST}),
    "scim/v2/Schemas/<str:name>": Door({"GET": Who(401, 401, 404, 404)}, "scim/v2/Schemas/none"),
    "scim/v2/<path:rest>": Door(
        dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), Who(401, 401, 404, 404)),
        "scim/v2/Nowhere",
        body={},
    ),
    "api/v1/domains": Door({"GET": LIST}),
    "api/v1/group-rules": Door(
        {"GET": LIST, "POST": Who(401, 401, 409, 201)}, body={"group": "crew", "role": "viewer"}
    ),
    "api/v1/group-rules/<uuid:rule_id>": Door(
        {"DELETE": Who(401, 401, 404, 204)}, "api/v1/group-rules/{rule}"
    ),
    "team/threads/": Door({"GET": PAGE}),
    "team/threads/<uuid:key>/hand-over": Door(FORM, "team/threads/{spare}/hand-over"),
    "team/threads/<uuid:key>/erase": Door(FORM, "team/threads/{spare}/erase"),
    "invitations/<str:token>/": Door(
        {"GET": Who(404, 404, 404, 404), "POST": FORGED}, f"invitations/{TOKEN}/"
    ),
    "api/v1/invitations": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"email": "dora@example.com"}
    ),
    "api/v1/invitations/<uuid:invitation_id>/revoke": Door(
        {"POST": OBJECT}, "api/v1/invitations/{invitation}/revoke"
    ),
    "account/inactive/": Door(ALL),
    "account/reauthenticate/": Door(NO_PASSWORD),
    "account/email/": Door(OWN),
    "account/verify/": Door(OWN_AGAIN),
    "account/password/": Door(OWN_AGAIN),
    "account/password/set/": Door(OWN),
    "account/password/reset/": Door(ALL),
    "account/password/reset/sent/": Door(ALL),
    "account/password/reset/done/": Door(ALL),
    "^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$": Door(
        ALL, "account/password/reset/1-abc/"
    ),
    "account/mfa/": Door(OWN),
    "account/mfa/authenticate/": Door(OWN_AGAIN),
    "account/mfa/reauthenticate/": Door(NO_PASSWORD),
    "account/mfa/totp/activate/": Door(OWN),
    "account/mfa/totp/deactivate/": Door(NO_FACTOR),
    "account/mfa/codes/": Door(NO_FACTOR),
    "account/mfa/codes/generate/": Door(OWN),
    "account/mfa/codes/download/": Door(NO_FACTOR),
    "account/mfa/keys/": Door(OWN),
    "account/mfa/keys/add/": Door(OWN),
    "account/mfa/keys/<int:pk>/edit/": Door(NO_FACTOR, "account/mfa/keys/1/edit/"),
    "account/mfa/keys/<int:pk>/remove/": Door(NO_FACTOR, "account/mfa/keys/1/remove/"),
    "account/mfa/keys/reauthenticate/": Door(NO_PASSWORD),
    "account/mfa/keys/login/": Door(MOVED_ALL),  # the challenge is for scripts
    "account/sessions/": Door(OWN),
    "account/sessions/<int:session_id>/end": Door(FORM, "account/sessions/1/end"),
    # One's own, and a key has none.
    "api/v1/sessions": Door({"GET": Who(401, 401, 403, 403)}),
    "api/v1/sessions/<int:session_id>": Door(
        {"DELETE": Who(401, 401, 403, 403)}, "api/v1/sessions/1"
    ),
    "account/sso/": Door(OWN),
    "account/sso/signup/": Door(OWN_AGAIN),
    "account/sso/cancelled/": Door(ALL),
    "account/sso/error/": Door({"GET": Who(401, 401, 401, 401), "POST": FORGED}),
    "account/sso/<slug:provider_id>/login/": Door(
        {"GET": Who(404, 404, 404, 404), "POST": FORGED}, "account/sso/nowhere/login/"
    ),
    "account/sso/<slug:provider_id>/callback/": Door(
        {"GET": Who(404, 404, 404, 404), "POST": FORGED}, "account/sso/nowhere/callback/"
    ),
    # There is none here; a foreign page posts to the second, without a token.
    "account/sso/saml/login/": Door({"GET": Who(404, 404, 404, 404), "POST": FORGED}),
    "account/sso/saml/acs/": Door(
        {"GET": Who(302, 401, 302, 302), "POST": Who(404, 404, 404, 404)}
    ),
    "account/sso/saml/metadata/": Door({"GET": Who(404, 404, 404, 404)}),
    # The same for everyone.
    "ready": Door({"GET": OPEN}),
    "api/schema/": Door({"GET": OPEN}),
    "api/docs/": Door({"GET": OPEN}),
    "docs": Door({"GET": MOVED}),
    "docs/": Door({"GET": OPEN}),
    "docs/<path:name>": Door({"GET": OPEN}, "docs/quickstart.md"),
}
