"""Operators look for five tasks of each page in the docs: the page is among the first three hits.

The search stands for the minute in which a person should find the place. The section with the steps
must exist, so that the page's list of contents leads to it.
"""

from agui_host.runtimes.builtin import doc_search

TASKS_OF_A_PAGE = 5
ENOUGH = 4
"""Of them, for each page: as many as of the newcomers' questions."""
MOST_MISSED = 1
"""Of all pages together."""
MOST = 3
# A page, and five tasks of its readers with the section that has the steps.
TASKS = {
    "deploy": {
        "start everything with docker compose": "Compose",
        "pin images by digest": "Images by digest",
        "create the first account and sign in": "The first person",
        "deploy a new version without cutting runs": "Rolling out a new version",
        "install the systemd units": "systemd",
    },
    "operations": {
        "what does this warning in the log mean": "Warnings and errors",
        "the disk is full": "A full disk",
        "a worker process hangs": "Hung processes",
        "Valkey is down": "Valkey down",
        "rotate the secrets of the stored credentials": "Secrets at rest",
    },
    "backup": {
        "dump the database": "Dump",
        "restore a dump into another PostgreSQL server": "Restore into another server",
        "restore to a point in time": "A point in time",
        "are uploaded files part of a backup": "Back up and restore",
        "readers with cursors after a restore, new epoch": "Restore into another server",
    },
    "upgrade": {
        "upgrade to a newer version": "Upgrade and roll back",
        "roll back to the old version": "Roll back",
        "migrate waits for a lock": "While it migrates",
        "keep one environment for each version with systemd": "One environment for each version",
        "major version of the embedded PostgreSQL": "The embedded PostgreSQL",
    },
    "kubernetes": {
        "values of the Helm chart": "Values",
        "use Gateway API or an Ingress": "The way in",
        "scale workers by queue age with KEDA": "Scaling",
        "network policy of the pods": "The network",
        "apply plain manifests without Helm": "The plain manifests",
    },
    "managed": {
        "use Amazon RDS": "PostgreSQL",
        "use Cloud SQL": "PostgreSQL",
        "managed PostgreSQL without superuser": "PostgreSQL",
        "use ElastiCache": "Valkey and Redis",
        "managed Valkey or Redis service": "Valkey and Redis",
    },
    "howto-monitoring": {
        "scrape web and worker with Prometheus": "Monitor it with Prometheus",
        "which metrics are there": "The metrics",
        "load the alert rules": "Alerts",
        "Grafana dashboard": "Monitor it with Prometheus",
        "alert when webhooks fail": "Alerts",
    },
}


def test_an_operator_finds_the_page_of_a_task() -> None:
    library = doc_search.library()
    missed: dict[str, list[str]] = {}
    for page, tasks in TASKS.items():
        for task in tasks:
            hits, _ = library.search(task, MOST)
            if f"docs/{page}.md" not in [hit.file for hit in hits]:
                missed.setdefault(page, []).append(task)
    assert [len(tasks) for tasks in TASKS.values()] == [TASKS_OF_A_PAGE] * len(TASKS)
    assert {
        page for page, tasks in missed.items() if len(tasks) > TASKS_OF_A_PAGE - ENOUGH
    } == set()
    assert sum(map(len, missed.values())) <= MOST_MISSED, missed


def test_each_section_exists() -> None:
    headings = {
        (section.file, section.heading.rpartition(" › ")[2])
        for section in doc_search.library().sections
    }
    named = {(f"docs/{page}.md", name) for page, tasks in TASKS.items() for name in tasks.values()}
    assert named - headings == set()
