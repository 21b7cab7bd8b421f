from django.urls import path

from runs.api.budgets import resource

urlpatterns = [
    path("budgets", resource.BudgetList.as_view(), name="api-budgets"),
    path("budgets/<uuid:budget_id>", resource.BudgetDetail.as_view(), name="api-budget"),
]
