"""The rows of the runs list, in its page and in the changes of an open one."""

from django import template
from django.template import Context
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui_host.dashboard import rows

register = template.Library()


@register.simple_tag(takes_context=True)
def run_rows(context: Context) -> SafeString:
    """The rows of the page."""
    made = rows.of(context["page"].runs, context["columns"], picks=context["principal"].can("run"))
    return format_html_join("", "{}", ((row,) for row in made))


@register.simple_tag(takes_context=True)
def changed_rows(context: Context) -> SafeString:
    """The rows that have changed, each in a template, so that a browser keeps its cells."""
    picks = context["principal"].can("run")
    made = rows.of(context["runs"], context["columns"], picks=picks, swapped=True)
    return format_html_join("\n", "<template>{}</template>", ((row,) for row in made))
