"""What templates ask of a run."""

from django import template

from dashboard import listing

register = template.Library()
register.filter("active", listing.is_active)
register.filter("stamp", listing.stamp)
