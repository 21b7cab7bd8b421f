"""What teams set up, from webhooks to notes: what each address answers to whom (see ``doors``)."""

from tests.tenancy.doors import (
    FORM,
    LIST,
    MOVED,
    NOWHERE,
    OBJECT,
    PAGE,
    RUN_PAGE,
    Door,
    Who,
)

AUTOMATION: dict[str, Door] = {
    "api/v1/webhooks": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)},
        body={"url": NOWHERE, "events": ["run.failed"]},
    ),
    "api/v1/webhooks/<uuid:webhook_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/webhooks/{webhook}",
        body={"events": ["run.succeeded"]},
    ),
    "api/v1/webhooks/<uuid:webhook_id>/rotate": Door(
        {"POST": OBJECT}, "api/v1/webhooks/{webhook}/rotate"
    ),
    "api/v1/webhooks/<uuid:webhook_id>/test": Door(
        {"POST": Who(401, 401, 404, 202)}, "api/v1/webhooks/{webhook}/test"
    ),
    "api/v1/webhooks/<uuid:webhook_id>/deliveries": Door(
        {"GET": OBJECT}, "api/v1/webhooks/{webhook}/deliveries"
    ),
    "api/v1/webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver": Door(
        {"POST": Who(401, 401, 404, 202)},
        "api/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver",
    ),
    "api/v1/budgets": Door(
        {"GET": LIST, "POST": Who(401, 401, 422, 201)},
        body={"scope": "agent", "of": "far", "tokens": 10},
    ),
    "api/v1/budgets/<uuid:budget_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/budgets/{budget}",
        body={"tokens": 10},
    ),
    "tool-calls": Door({"GET": MOVED}),
    "tool-calls/": Door({"GET": PAGE}),
    "issues": Door({"GET": MOVED}),
    "issues/": Door({"GET": PAGE}),
    "issues/<uuid:issue_id>/": Door({"GET": RUN_PAGE}, "issues/{issue}/"),
    "issues/<uuid:issue_id>/change": Door(FORM, "issues/{issue}/change"),
    "api/v1/tool-calls": Door({"GET": LIST}),
    "api/v1/issues": Door({"GET": LIST}),
    "api/v1/issues/<uuid:issue_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT}, "api/v1/issues/{issue}", body={"status": "resolved"}
    ),
    "api/v1/alerts": Door(
        {"GET": LIST, "POST": Who(401, 401, 422, 201)},
        body={"name": "a", "measure": "cost", "threshold": 1, "agent": "far"},
    ),
    "api/v1/alerts/<uuid:alert_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/alerts/{alert}",
        body={"threshold": 10},
    ),
    "api/v1/alerts/<uuid:alert_id>/snooze": Door(
        {"POST": OBJECT}, "api/v1/alerts/{alert}/snooze", body={"until": None}
    ),
    "api/v1/alerts/<uuid:alert_id>/history": Door({"GET": OBJECT}, "api/v1/alerts/{alert}/history"),
    "api/v1/runs/<uuid:run_id>/labels": Door(
        {"GET": OBJECT, "PUT": OBJECT}, "api/v1/runs/{run}/labels", body={"labels": ["x"]}
    ),
    "api/v1/datasets": Door({"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"name": "mine"}),
    "api/v1/datasets/<uuid:data_set_id>": Door(
        {"GET": OBJECT, "DELETE": Who(401, 401, 404, 204)}, "api/v1/datasets/{dataset}"
    ),
    "api/v1/datasets/<uuid:data_set_id>/runs": Door(
        {"GET": OBJECT, "POST": OBJECT}, "api/v1/datasets/{dataset}/runs", body={"label": "none"}
    ),
    "api/v1/datasets/<uuid:data_set_id>/runs/<uuid:run_id>": Door(
        {"DELETE": Who(401, 401, 404, 204)}, "api/v1/datasets/{dataset}/runs/{run}"
    ),
    "api/v1/datasets/<uuid:data_set_id>/export": Door(
        {"GET": OBJECT}, "api/v1/datasets/{dataset}/export"
    ),
    "api/v1/datasets/<uuid:data_set_id>/trials": Door(
        {"GET": OBJECT, "POST": Who(401, 401, 404, 201)},
        "api/v1/datasets/{dataset}/trials",
        body={"agent": "echo"},
    ),
    "api/v1/trials/<uuid:trial_id>": Door({"GET": OBJECT, "POST": OBJECT}, "api/v1/trials/{trial}"),
    "api/v1/schedules": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"cron": "0 0 * * *"}
    ),
    "api/v1/schedules/<uuid:schedule_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/schedules/{schedule}",
        body={"cron": "1 0 * * *"},
    ),
    "api/v1/schedules/<uuid:schedule_id>/run": Door(
        {"POST": Who(401, 401, 404, 202)}, "api/v1/schedules/{schedule}/run"
    ),
    "api/v1/views": Door({"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"name": "mine"}),
    "api/v1/views/<uuid:view_id>": Door(
        {"GET": OBJECT, "PATCH": OBJECT, "DELETE": Who(401, 401, 404, 204)},
        "api/v1/views/{view}",
        body={"query": "status=failed"},
    ),
    "api/v1/documents": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"title": "Rules", "text": "Be kind."}
    ),
    "api/v1/documents/<uuid:document_id>": Door(
        {"GET": OBJECT, "DELETE": Who(401, 401, 404, 204)}, "api/v1/documents/{document}"
    ),
    "api/v1/wisdom": Door(
        {"GET": LIST, "POST": Who(401, 401, 201, 201)}, body={"text": "Be kind."}
    ),
    "api/v1/wisdom/<uuid:note_id>": Door(
        {"DELETE": Who(401, 401, 404, 204)}, "api/v1/wisdom/{wisdom}"
    ),
}
