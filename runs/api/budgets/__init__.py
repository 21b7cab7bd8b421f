"""Budgets over HTTP."""
