/** Tabs by mouse, arrow keys and hotkeys; the address remembers the tab. */

export class Tabs {
  /** `onShow(name)` is told which panel is shown, by the id of its element. */
  constructor(list, onShow) {
    this.tabs = [...list.querySelectorAll("[role=tab]")];
    this.onShow = onShow;
    this.shown = this.tabs[0].getAttribute("aria-controls");
    for (const tab of this.tabs) tab.addEventListener("click", () => this.choose(tab));
    list.addEventListener("keydown", (event) => this.move(event));
    document.addEventListener("keydown", (event) => this.hotkey(event));
  }

  show(name) {
    this.shown = name;
    for (const tab of this.tabs) {
      const chosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    this.onShow(name);
  }

  has(name) {
    return this.tabs.some((tab) => tab.getAttribute("aria-controls") === name);
  }

  choose(tab) {
    const name = tab.getAttribute("aria-controls");
    history.replaceState(null, "", `#${name}`);
    this.show(name);
  }

  move(event) {
    const now = this.tabs.indexOf(document.activeElement);
    const last = this.tabs.length - 1;
    const next = { ArrowLeft: now ? now - 1 : last, ArrowRight: now < last ? now + 1 : 0, Home: 0, End: last }[event.key];
    if (next === undefined || now < 0) return;
    event.preventDefault();
    this.tabs[next].focus();
    this.choose(this.tabs[next]);
  }

  hotkey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select")) return;
    const tab = this.tabs.find((each) => each.getAttribute("aria-keyshortcuts") === event.key);
    if (!tab) return;
    tab.focus();
    this.choose(tab);
  }
}
