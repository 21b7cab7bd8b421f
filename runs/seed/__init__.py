"""Runs to look at: made by ``manage.py seed_demo``, without a worker or an agent."""
