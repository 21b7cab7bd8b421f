"""OpenAI's Responses, Conversations and Chat Completions."""
