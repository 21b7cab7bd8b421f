/** The list from which a run was opened: the way back to it, and its runs before and after this one. */

import { find, h } from "./dom.mjs";

const KEY = "the list of runs";

/** The list, with the links to its runs, newest first. */
export function remember(links) {
  const pages = links.map((link) => link.pathname);
  sessionStorage.setItem(KEY, JSON.stringify({ list: location.pathname + location.search, pages }));
}

/** Lead back to the list with its filters, and to its neighbours of this run; their keys. */
export function offer() {
  const { list, pages } = JSON.parse(sessionStorage.getItem(KEY)) ?? { pages: [] };
  const at = pages.indexOf(location.pathname);
  if (at < 0) return [];
  const crumb = document.querySelector(".crumb");
  crumb.querySelector("a").href = list;
  const ways = [["[", "Newer run of the list", "← Newer", pages[at - 1]], ["]", "Older run of the list", "Older →", pages[at + 1]]];
  const there = ways.filter(([, , , page]) => page);
  find("neighbours").replaceChildren(...there.map(([key, title, text, page]) => h("a", { href: page, title, "aria-keyshortcuts": key }, text)));
  return there.map(([key, title, , page]) => [key, title, () => location.assign(page)]);
}
