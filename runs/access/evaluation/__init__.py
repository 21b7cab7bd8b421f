"""Evaluation: who labels runs, collects them in data sets, and runs those again."""
