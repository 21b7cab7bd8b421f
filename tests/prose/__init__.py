"""How often our prose uses constructions that native writers rarely use.

``python -m tests.prose`` prints the rates per 10,000 words by room;
``python -m tests.prose "one that" runs docs/limits.md`` prints the lines of one construction.
"""
