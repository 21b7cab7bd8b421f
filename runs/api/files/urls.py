from django.urls import path

from runs.api.files import resource

urlpatterns = [
    path("files", resource.FileList.as_view(), name="api-files"),
    path("files/<uuid:file_id>", resource.FileDetail.as_view(), name="api-file"),
]
