"""CopilotKit's addresses: its runtime contract as far as it is plain JSON."""
