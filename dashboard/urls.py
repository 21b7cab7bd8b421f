from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, path

from dashboard import shared, views
from dashboard.pages import strict
from runs.api.remarks import SharedComments

login = LoginView.as_view(template_name="login.html", redirect_authenticated_user=True)

urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("login/", strict(login), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("runs/", views.runs, name="runs"),
    path("runs/pulse", views.pulse, name="runs-pulse"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/input", views.run_input, name="run-input"),
    path("shared/<str:token>/", shared.link, name="shared"),
    path("shared/<str:token>/runs/<uuid:run_id>/", shared.run, name="shared-run"),
    path("shared/<str:token>/runs/<uuid:run_id>/status", shared.status, name="shared-status"),
    path(
        "shared/<str:token>/runs/<uuid:run_id>/comments",
        SharedComments.as_view(),
        name="shared-comments",
    ),
    path("login", views.with_slash),
    path("runs", views.with_slash),
    path("runs/<uuid:run_id>", views.with_slash),
]
