"""Rows that many tests begin with, and what they read of them again and again."""
