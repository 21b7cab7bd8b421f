/** Tabs by mouse, arrow keys and hotkeys. */

export class Tabs {
  /** `onChoose(name)` gets the chosen panel, by the id of its element. */
  constructor(list, onChoose) {
    this.tabs = [...list.querySelectorAll("[role=tab]")];
    this.names = this.tabs.map(nameOf);
    this.onChoose = onChoose;
    this.shown = nameOf(this.tabs.find((tab) => tab.getAttribute("aria-selected") === "true"));
    for (const tab of this.tabs) tab.addEventListener("click", () => this.onChoose(nameOf(tab)));
    list.addEventListener("keydown", (event) => this.move(event));
  }

  show(name) {
    this.shown = name;
    for (const tab of this.tabs) {
      const chosen = nameOf(tab) === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(nameOf(tab)).hidden = !chosen;
    }
  }

  /** The rows of the page's table of keys. */
  keys() {
    return this.tabs.map((tab) => [tab.getAttribute("aria-keyshortcuts"), `Show: ${tab.firstChild.data.trim()}`, () => this.choose(tab)]);
  }

  move(event) {
    const now = this.tabs.indexOf(document.activeElement);
    const last = this.tabs.length - 1;
    const next = { ArrowLeft: now ? now - 1 : last, ArrowRight: now < last ? now + 1 : 0, Home: 0, End: last }[event.key];
    if (next === undefined || now < 0) return;
    event.preventDefault();
    this.choose(this.tabs[next]);
  }

  choose(tab) {
    tab.focus();
    this.onChoose(nameOf(tab));
  }
}

function nameOf(tab) {
  return tab.getAttribute("aria-controls");
}
