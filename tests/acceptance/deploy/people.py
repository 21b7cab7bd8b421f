"""People of a deployment: a browser without its pages' scripts for each."""

from collections.abc import Callable

import httpx

PASSWORD = "five-horse-battery-staples"
ASKED = {"messages": [{"id": "1", "role": "user", "content": "What is a journal?"}]}


class Person:
    """``url`` is the deployment's; ``mailed`` gives the code last mailed to an address."""

    def __init__(
        self, name: str, url: str, client: httpx.Client, mailed: Callable[[str], str]
    ) -> None:
        self.name, self.url, self.client, self.mailed = name, url, client, mailed
        self.address = f"{name}@example.com"
        client.headers.update({"Referer": f"{url}/", "Origin": url, "Accept": "text/html"})

    def post(self, path: str, **fields: str) -> httpx.Response:
        """Send the form of a page."""
        self.client.get(path)
        token = self.client.cookies["csrftoken"]
        answer = self.client.post(path, data={"csrfmiddlewaretoken": token, **fields})
        assert answer.status_code == 302, answer.text
        return answer

    def join(self, link: str) -> None:
        """Sign up as invited, and join the team."""
        path = link.removeprefix(self.url)
        assert self.address in self.client.get(path).text
        self.post("/signup/", username=self.name, email=self.address, password1=PASSWORD)
        self.post("/account/verify/", code=self.mailed(self.address))
        self.post(path)

    def ask(self) -> str:
        """Start a run; its id."""
        token = {"X-CSRFToken": self.client.cookies["csrftoken"], "Accept": "application/json"}
        body = {"agent": "docs", "input": ASKED}
        answer = self.client.post("/api/v1/runs?wait=30", json=body, headers=token)
        assert '"succeeded"' in answer.text, answer.text
        return str(answer.json()["id"])

    def runs(self) -> set[str]:
        """The ids of the runs that this person sees."""
        json = {"Accept": "application/json"}
        return {
            run["id"] for run in self.client.get("/api/v1/runs", headers=json).json()["results"]
        }


def work(people: list[Person], watching: str) -> None:
    """All but the one who only watches start a run, and everybody sees the same runs."""
    runs = {person.ask() for person in people if person.name != watching}
    for person in people:
        assert person.runs() == runs, person.name
        person.client.close()
