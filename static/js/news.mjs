/** When the page last heard from the host, told by each of its sources: a page never claims to be live while one is silent. */

const STALE = 20;
const sources = new Map();

/** A source of news; call `heard()` whenever it brings something, `end()` when it has no more to bring. */
export function source(name) {
  const heard = () => {
    sources.set(name, Date.now());
    show();
  };
  heard();
  return { heard, end: () => sources.delete(name) };
}

function show() {
  const place = document.getElementById("news");
  if (!place || document.hidden) return;
  const age = Math.floor((Date.now() - Math.min(...sources.values())) / 1000);
  place.hidden = sources.size === 0;
  place.dataset.is = age < STALE ? "live" : "stale";
  place.textContent = age < STALE ? `Live · ${age} s ago` : `No news for ${age < 120 ? `${age} s` : `${Math.floor(age / 60)} m`}`;
}

setInterval(show, 1000);
