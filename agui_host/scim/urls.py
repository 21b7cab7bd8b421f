from django.urls import path

from agui_host.scim import endpoints

urlpatterns = [
    path("scim/v2/Users", endpoints.Users.as_view(), name="scim-users"),
    path("scim/v2/Users/<uuid:key>", endpoints.User.as_view(), name="scim-user"),
    path("scim/v2/Groups", endpoints.Groups.as_view(), name="scim-groups"),
    path("scim/v2/Groups/<uuid:key>", endpoints.Group.as_view(), name="scim-group"),
    path(
        "scim/v2/ServiceProviderConfig",
        endpoints.ServiceProviderConfig.as_view(),
        name="scim-config",
    ),
    path("scim/v2/ResourceTypes", endpoints.ResourceTypes.as_view(), name="scim-types"),
    path("scim/v2/ResourceTypes/<str:name>", endpoints.ResourceType.as_view(), name="scim-type"),
    path("scim/v2/Schemas", endpoints.Schemas.as_view(), name="scim-schemas"),
    path("scim/v2/Schemas/<str:name>", endpoints.Schema.as_view(), name="scim-schema"),
    path("scim/v2/<path:rest>", endpoints.Nowhere.as_view()),
]
