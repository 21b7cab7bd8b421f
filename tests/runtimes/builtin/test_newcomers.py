"""The docs agent and 30 questions of newcomers: a page that answers is among its first three."""

import pytest

from agui_host.runtimes.builtin import doc_search

ENOUGH = 24
MOST = 3
# A question, and the pages any of which answers it.
QUESTIONS = {
    "How do I start the host on my laptop?": "README quickstart",
    "How do I host my own agent?": "README agents howto-python",
    "How can I connect a remote AG-UI agent by its URL?": "agents README",
    "Where is the API documentation?": "protocol README clients",
    "How do I get an API key?": "quickstart permissions howto-people deploy howto-socket",
    "How do I replay a run from the beginning?": "quickstart protocol howto-inspect README clients",
    "How do I cancel a run?": "quickstart protocol agents",
    "Can I share a run with somebody outside of my team?": "howto-share permissions",
    "What may a viewer do?": "permissions",
    "How do I invite a colleague?": "howto-people permissions deploy",
    "How do I sign in with single sign-on (OIDC)?": "howto-people deploy settings",
    "How do I use it with CopilotKit?": "howto-copilotkit clients",
    "Does it work with the Vercel AI SDK useChat?": "examples/use-chat clients dialects",
    "Can I use the OpenAI client?": "examples/openai clients examples/openai-agents dialects",
    "How do I connect Open WebUI?": "howto-open-webui",
    "How do I call an agent from Claude by MCP?": "howto-mcp-a2a examples/mcp-client",
    "How does a webhook get signed?": "howto-webhooks",
    "How do I run an agent every morning?": "howto-schedules",
    "How long are runs kept and how do I delete old ones?": "howto-retention settings limits",
    "How do I back up and restore?": "backup operations",
    "What do I need to run it in production?": "deploy operations sizes",
    "How do I deploy on Kubernetes?": "deploy kubernetes",
    "How do I put nginx in front?": "deploy operations",
    "Which metrics does Prometheus scrape?": "howto-monitoring operations",
    "What happens when a worker crashes?": "howto-durable operations architecture protocol",
    "How do I ask a person for approval in my agent?": "agents howto-answer quickstart",
    "How do I upload a file to an agent?": "howto-files",
    "How do I limit what an agent may spend?": "howto-budgets limits",
    "Can I run it without Redis?": "quickstart howto-valkey settings",
    "How much memory and disk do I need?": "sizes deploy limits",
}
# In other words, and with those of operators; written before the search was tried with them.
FURTHER_QUESTIONS = {
    "What do I have to install before make run works?": "README quickstart",
    "Port 8000 is already taken, how do I change it?": "settings quickstart README",
    "My browser tab was closed, is the answer lost?": "README quickstart architecture",
    "Send a chat message with curl": "quickstart README protocol examples/openai",
    "Write my first agent in Python": "README agents howto-python",
    "Wrap my LangGraph graph": "examples/frameworks agents howto-durable",
    "Use pydantic-ai with this server": "examples/frameworks agents howto-durable",
    "Run Claude Code as an agent": "howto-process examples/command-line/README agents",
    "The agent needs a yes or no from a human before it deletes something": "agents howto-answer",
    "Show progress steps and intermediate state to the user": "agents howto-process protocol",
    "Unit tests for an agent without a server": "howto-test-agents",
    "Mask e-mail addresses and credit card numbers in the output": "howto-middleware howto-share",
    "Give the model our company documents (RAG)": "howto-context agents",
    "React front end: which npm package?": "howto-javascript howto-copilotkit",
    "Reconnect after the network dropped": "howto-javascript howto-python protocol howto-socket",
    "Token expired or 401 unauthorized, what is wrong?": "protocol permissions howto-end-users",
    "How do my customers log in, each with their own conversations?": "howto-end-users",
    "See how many tokens and dollars last month cost": "howto-usage howto-budgets",
    "Where do I find runs that failed yesterday?": "howto-inspect howto-issues",
    "How does this compare with LangGraph Platform or Bedrock AgentCore?": "compared",
    "Size of the server for 100 concurrent users": "sizes",
    "Mails are not sent": "operations deploy settings howto-people",
    "Streams arrive all at once behind my reverse proxy": "operations deploy",
    "Delete everything about a former employee (GDPR)": "personal-data howto-retention howto-scim",
    "An alert woke me up: queue is growing, add workers?": "operations howto-monitoring",
    "Database password rotation without downtime": "operations howto-postgresql settings",
    "Which environment variables are there?": "settings",
    "Configure teams and members as code in git": "howto-apply",
    "Too many connections to Postgres": "operations howto-postgresql",
    "Move the host to another machine": "backup deploy upgrade operations",
}


def first_pages(question: str) -> list[str]:
    """The first pages that the agent names."""
    hits, _ = doc_search.library().search(question, MOST)
    return [hit.file.removeprefix("docs/").removesuffix(".md") for hit in hits]


@pytest.mark.parametrize("questions", [QUESTIONS, FURTHER_QUESTIONS], ids=["first", "further"])
def test_the_docs_agent_answers_newcomers(questions: dict[str, str]) -> None:
    hits = {question: first_pages(question) for question in questions}
    missed = {
        question: pages
        for question, pages in hits.items()
        if not set(pages) & set(questions[question].split())
    }
    assert len(questions) == 30
    assert len(missed) <= len(questions) - ENOUGH, missed
