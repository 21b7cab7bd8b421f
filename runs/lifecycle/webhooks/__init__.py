"""Webhooks: what is sent, how it is signed, and when it is tried (``runs/models/webhook.py``)."""
