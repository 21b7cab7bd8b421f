from django.urls import path

from runs.api.usage import limits, prices, resource

urlpatterns = [
    path("limits", limits.TeamLimits.as_view(), name="api-limits"),
    path("usage", resource.TeamUsage.as_view(), name="api-usage"),
    path("prices", prices.TeamPrices.as_view(), name="api-prices"),
]
