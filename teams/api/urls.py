from django.urls import path

from teams.api import audit

urlpatterns = [
    path("audit", audit.AuditList.as_view(), name="api-audit"),
    path("audit.csv", audit.AuditCsv.as_view(), name="api-audit-csv"),
    path("audit.ndjson", audit.AuditNdjson.as_view(), name="api-audit-ndjson"),
]
