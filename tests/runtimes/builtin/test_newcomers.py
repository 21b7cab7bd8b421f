"""The docs agent and 30 questions of newcomers: a page that answers is among its first three."""

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


def first_pages(question: str) -> list[str]:
    """The first pages that the agent names."""
    hits, _ = doc_search.library().search(question, MOST)
    return [hit.file.removeprefix("docs/").removesuffix(".md") for hit in hits]


def test_the_docs_agent_answers_newcomers() -> None:
    hits = {question: first_pages(question) for question in QUESTIONS}
    missed = {
        question: pages
        for question, pages in hits.items()
        if not set(pages) & set(QUESTIONS[question].split())
    }
    assert len(QUESTIONS) == 30
    assert len(missed) <= len(QUESTIONS) - ENOUGH, missed
