"""Webhooks: their content, how it is signed, and when it is tried (``runs/models/webhook.py``)."""
