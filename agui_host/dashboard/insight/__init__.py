"""The pages of tool calls and of issues."""
