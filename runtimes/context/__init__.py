"""Context providers: what an agent is told before a run, beside what the client sent."""
