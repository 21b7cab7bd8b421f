"""The AI SDK's UI message stream, version 1."""
