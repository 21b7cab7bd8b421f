"""Notices about questions: who wants them, and who may see what they say."""
