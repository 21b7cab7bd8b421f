"""The addresses of dialects that Django answers."""

from agui_host import dialects

urlpatterns = [view for format in dialects.formats() for view in format.views]
