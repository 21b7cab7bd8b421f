"""Long texts of a thread, whose parts are stored once."""

from runs.models.texts.pieced_text import PiecedText, whole_size

__all__ = ["PiecedText", "whole_size"]
