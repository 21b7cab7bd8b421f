"""The pages in a real browser: sign in, start a run, watch it, cancel it, come back to it."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal
from uuid import uuid4

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    Route,
    expect,
)

from tests.acceptance.host import Host

HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
TABS = ("timeline", "messages", "events", "state", "input")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PHONE = {"width": 360, "height": 740}
# The lowest contrast between any text in sight and what lies behind it.
CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) known.set(colour, painted(colour));
    return known.get(colour);
  };
  const painted = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgba(colour).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return rgba(colour)[3] === 255 ? colour : behind(element.parentElement);
  };
  let worst = [21, ""];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest(":disabled, .skip, .unseen")) continue;
    const pair = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 120)];
  }
  return worst;
}"""
LEAST_CONTRAST = 4.5
"""Of WCAG 2.2 AA."""

Open = Callable[..., Page]


def sign_in(page: Page, host: Host) -> None:
    """By the form of the sign-in page, which is open."""
    page.get_by_label("Username").fill(host.login)
    page.get_by_label("Password").fill(host.password)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture(scope="module")
def session(browser: Browser, host: Host) -> Any:
    """Signed in, once, through the form."""
    context = browser.new_context(base_url=host.url)
    page = context.new_page()
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/login/\?next=/$"))
    sign_in(page, host)
    expect(page).to_have_url(f"{host.url}/")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def open_page(browser: Browser, host: Host, session: Any) -> Iterator[Open]:
    """Opens a page in a browser of its own; at the end, none may have complained.

    A form that is refused is no complaint.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(address: str, *, quiet: bool = True, **options: Any) -> Page:
        context = browser.new_context(base_url=host.url, storage_state=session, **options)
        contexts.append(context)
        page = context.new_page()
        if quiet:
            page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if "status of 422" not in text] == []


def all_can_be_read(page: Page, where: str) -> None:
    """The open page has enough contrast in light and in dark."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        ratio, what = page.evaluate(CONTRAST)
        assert ratio >= LEAST_CONTRAST, (where, scheme, what)


def ended(host: Host, script: list[dict[str, Any]], **input: Any) -> str:
    """A run of the scripted agent that is over; its id."""
    run = host.begin(script=script, **input)
    host.wait_status(run["id"], "succeeded", "failed", "interrupted")
    return str(run["id"])


def test_start_a_run_and_look_at_all_of_it(open_page: Open) -> None:
    page = open_page("/runs/")
    page.locator(".new").evaluate("form => { form.open = true }")  # closed beside runs
    page.get_by_label("Agent").first.select_option("table")
    page.get_by_label("Message").fill("name,age\nAnn,34\nBob,\nCleo,29\n")
    page.get_by_label("Message").press("Control+Enter")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}/$"))
    expect(page.locator(".title .chip")).to_have_text("succeeded")
    page.keyboard.press("m")
    expect(page.locator(".message.user")).to_contain_text("Cleo,29")
    expect(page.locator(".message.assistant")).to_contain_text("3 rows, 2 columns")
    expect(page.locator("#connection")).to_be_empty()

    page.keyboard.press("e")
    rows = page.locator(".row")
    expect(rows.first).to_contain_text("RUN_STARTED")
    expect(rows.last).to_contain_text("RUN_FINISHED")
    rows.nth(1).click()
    expect(page.locator("#detail")).to_contain_text('"type":')
    expect(page).to_have_url(re.compile("#seq=2$"))
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile("#seq=3$"))
    expect(page.locator('.row[aria-selected="true"]')).to_have_attribute("data-seq", "3")

    page.get_by_role("tab", name="Events").press("ArrowRight")
    expect(page.get_by_role("tab", name="State")).to_be_focused()
    page.get_by_role("button", name="Back to the whole run").click()
    expect(page.locator("#state-tree")).to_contain_text("rows:3")
    page.keyboard.press("i")
    expect(page.locator("#input-tree")).to_contain_text("messages:[1]")
    page.reload()
    expect(page.locator("#input-tree")).to_be_visible()
    page.keyboard.press("m")
    expect(page.locator("#conversation")).to_be_visible()


def test_watch_a_run_live_and_cancel_it(open_page: Open, host: Host) -> None:
    run = host.begin("slow", forwardedProps={"steps": 500, "seconds": 0.4})
    page = open_page(f"/runs/{run['id']}/")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator(".title .chip")).to_have_text("running")
    page.keyboard.press("m")
    expect(page.locator("#conversation")).to_contain_text("step 3")
    late = open_page(f"/runs/{run['id']}/#events")
    expect(late.locator("#follow")).to_be_checked()
    expect(late.locator("#log")).to_contain_text("step 5")

    page.get_by_role("button", name="Cancel run").click()
    for each in (page, late):
        expect(each.locator(".title .chip")).to_have_text("cancelled")
        expect(each.get_by_role("button", name="Cancel run")).to_be_hidden()
        expect(each).to_have_title(re.compile("slow · cancelled"))
    expect(page.locator("#conversation")).to_contain_text("Cancelled")
    expect(late.locator(".row").last).to_contain_text("RUN_FINISHEDcancelled")
    assert host.run(run["id"])["status"] == "cancelled"


def test_the_list_lives_without_jumping(open_page: Open, host: Host) -> None:
    thread = str(uuid4())
    run = host.begin(threadId=thread, script=[{"text": "working"}, {"forever": True}])
    host.wait_status(run["id"], "running")
    page = open_page(f"/runs/?thread_id={thread}")
    row = page.locator(f"#run-{run['id']}")
    expect(row.locator(".chip")).to_have_text("running")
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel")
    expect(row.locator(".chip")).to_have_text("cancelled")
    other = ended(host, [{"text": "hello"}], threadId=thread)
    expect(page.get_by_role("link", name="1 new run")).to_be_visible()
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="1 new run").click()
    expect(page.locator("tbody tr").first).to_have_attribute("id", f"run-{other}")


def test_filters_are_in_the_address(open_page: Open, host: Host) -> None:
    thread = str(uuid4())
    failed = ended(host, [{"raise": "no"}], threadId=thread)
    ended(host, [{"text": "hello"}], threadId=thread)
    page = open_page("/runs/")
    page.get_by_text("Filter by agent, time and more").click()
    page.get_by_role("textbox", name="Thread").fill(thread)
    page.get_by_role("textbox", name="Thread").press("Enter")
    expect(page).to_have_url(f"{host.url}/runs/?thread_id={thread}")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.locator(".choice", has_text="failed").click()
    expect(page).to_have_url(f"{host.url}/runs/?status=failed&thread_id={thread}")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a").click()
    page.wait_for_url(f"/runs/{failed}/")
    expect(page.locator(".notice.error")).to_contain_text("agent_error")


def test_nothing_an_agent_says_becomes_markup(open_page: Open, host: Host) -> None:
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": HOSTILE}
    run = ended(
        host,
        [
            {"text": f"{HOSTILE} **{HOSTILE}** `{HOSTILE}`"},
            {"emit": call},
            {"emit": {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": HOSTILE}},
            {"emit": {"type": "TOOL_CALL_END", "toolCallId": "c"}},
            {"emit": {"type": "STEP_STARTED", "stepName": HOSTILE}},
            {"emit": {"type": "STEP_FINISHED", "stepName": HOSTILE}},
            {"emit": {"type": "CUSTOM", "name": HOSTILE, "value": {HOSTILE: HOSTILE}}},
            {"state": {HOSTILE: [HOSTILE]}},
            {"result": HOSTILE},
            {"interrupt": {"reason": HOSTILE, "message": HOSTILE}},
        ],
        messages=[{"role": "user", "content": HOSTILE}],
    )
    page = open_page(f"/runs/{run}/#messages")
    expect(page.locator(".notice.interrupt")).to_contain_text(HOSTILE)
    for details in page.locator("#conversation details").all():
        details.locator("summary").first.click()
    expect(page.locator(".tool .body").first).to_contain_text(HOSTILE)
    for key, place in {"e": "#log", "s": "#state-tree", "i": "#input-tree"}.items():
        page.keyboard.press(key)
        expect(page.locator(place)).to_contain_text("<script>")
    page.goto(f"/runs/{run}/#seq=10")
    expect(page.locator("#detail")).to_contain_text("<script>")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("window.pwned") is None


def test_fifty_thousand_events_are_few_rows(open_page: Open, host: Host) -> None:
    run = ended(host, [{"text": "", "n": 50_000}])
    page = open_page(f"/runs/{run}/#seq=40000")
    expect(page.locator("#shown")).to_have_text("50004 events")
    expect(page.locator('.row[aria-selected="true"]')).to_have_attribute("data-seq", "40000")
    expect(page.locator("#detail")).to_contain_text("TEXT_MESSAGE_CONTENT")
    assert page.locator(".row").count() < 100
    page.locator("#log").press("End")
    expect(page.locator('.row[data-seq="50004"]')).to_contain_text("RUN_FINISHED")
    page.get_by_placeholder("Filter by type").fill("run_")
    expect(page.locator("#shown")).to_have_text("2 of 50004 events")
    page.get_by_role("tab", name="Conversation").click()
    expect(page.locator(".message")).to_contain_text(" 49999")


@pytest.mark.parametrize("answer", ["cut", "refused"])
def test_a_broken_stream_goes_on_where_it_stopped(open_page: Open, host: Host, answer: str) -> None:
    words = [{"text": f"word {n}"} for n in range(8)]
    run = ended(host, words)
    events = host.events(run)
    requests: list[Request] = []

    def broken(route: Route) -> None:
        if answer == "cut":
            body = "retry: 100\n" + first_frames(host, run, 5)
            route.fulfill(body=body, content_type="text/event-stream")
        else:
            route.fulfill(status=502, body="")

    page = open_page("/runs/", quiet=False)
    page.on(
        "request", lambda request: requests.append(request) if "/events?" in request.url else None
    )
    page.route("**/events?after=*", broken, times=1)
    page.goto(f"/runs/{run}/#events")
    expect(page.locator("#shown")).to_have_text(f"{len(events)} events")
    expect(page.locator(".row").last).to_contain_text("RUN_FINISHED")
    seqs = page.locator(".row").evaluate_all("rows => rows.map((row) => Number(row.dataset.seq))")
    assert sorted(set(seqs)) == sorted(seqs)
    cursors = [request.all_headers().get("last-event-id") for request in requests]
    # An EventSource does not tell why it was refused: the page asks once more.
    assert cursors == ([None, "5"] if answer == "cut" else [None] * 3)


def first_frames(host: Host, run: str, count: int) -> str:
    """The first ``count`` frames of a run's stream, as the host sends them."""
    with host.client() as client:
        headers = {"Accept": "text/event-stream"}
        text = client.get(f"/api/v1/runs/{run}/events?after=0", headers=headers).text
    frames = text.removeprefix("retry: 1000\n").split("\n\n")
    return "".join(f"{frame}\n\n" for frame in frames[:count])


def test_signing_out_elsewhere_ends_the_view(open_page: Open, host: Host) -> None:
    page = open_page("/runs/", quiet=False)
    page.context.clear_cookies()
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()


def test_on_a_phone_nothing_scrolls_sideways_and_all_can_be_read(
    open_page: Open, host: Host
) -> None:
    wide = "w" * 300
    run = ended(
        host,
        [
            {"text": f"{wide} `{wide}`\n```\n{wide}\n```"},
            {"emit": {"type": "STEP_STARTED", "stepName": wide}},
            {"emit": {"type": "STEP_FINISHED", "stepName": wide}},
            {"emit": {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": wide}},
            {"emit": {"type": "TOOL_CALL_END", "toolCallId": "c"}},
            {"state": {wide: {"deep": [wide]}}},
            {"interrupt": {"reason": wide, "message": wide}},
        ],
        threadId=f"{uuid4()}{wide[:200]}",
        messages=[{"role": "user", "content": wide}],
    )
    page = open_page("/runs/", viewport=PHONE)
    for address in ("/runs/", *(f"/runs/{run}/#{tab}" for tab in TABS), "/runs/?status=x"):
        page.goto("about:blank")
        page.goto(address)
        if "#" in address:
            expect(page.locator("#count-messages")).to_have_text("2")
            expect(page.locator(f"#{address.partition('#')[2]}")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], address
        assert page.evaluate("document.body.scrollWidth") <= PHONE["width"], address
        all_can_be_read(page, address)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
        assert (brightness > 200) is (scheme == "light")
