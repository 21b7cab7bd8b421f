"""Uploaded files as callers use them."""
