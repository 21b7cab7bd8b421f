/** Keeps `<time data-age>`, `<time data-at>` and `<time data-since data-until>` going, in the host's time. */

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
const skew = Date.parse(document.body.dataset.now) - Date.now();

/** A time in words, in the zone that the page's other times have. */
export function local(time, options) {
  return new Date(time).toLocaleString([], { timeZone: document.body.dataset.zone, ...options });
}

/** The host's time, in ms. */
export function hostNow() {
  return Date.now() + skew;
}

export function age(seconds) {
  const unit = UNITS.find(([size]) => seconds >= size);
  return unit ? `${Math.floor(seconds / unit[0])} ${unit[1]} ago` : "just now";
}

/** The same words as the server's `span`: 340 ms, 4.2 s, 3 m 05 s, 2 h 10 m. */
export function span(milliseconds) {
  const seconds = Math.max(milliseconds, 0) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  return minutes < 60 ? `${minutes} m ${two(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
}

/** The same words as the server's `left`: in 4 m 10 s. */
export function left(milliseconds) {
  return milliseconds > 0 ? `in ${span(milliseconds)}` : "now";
}

export function tick() {
  const now = hostNow();
  for (const time of document.querySelectorAll("time:is([data-age], [data-left])")) {
    const at = Date.parse(time.dateTime);
    time.textContent = "age" in time.dataset ? age((now - at) / 1000) : left(at - now);
    time.title ||= local(at);
  }
  for (const time of document.querySelectorAll("time[data-at]:not([title])")) {
    const at = new Date(time.dateTime);
    const old = now - at > 64800000 && { month: "short", day: "numeric" };
    time.title = local(at);
    time.textContent = local(at, { ...old, hour: "2-digit", minute: "2-digit" });
  }
  document.querySelectorAll('time[data-until=""]').forEach(spell);
}

/** Write how long a `<time data-since data-until>` is, or has been until now. */
export function spell(time) {
  const { since, until } = time.dataset;
  if (since) time.textContent = span((until ? Date.parse(until) : hostNow()) - Date.parse(since));
}

export function startClock() {
  tick();
  setInterval(tick, 1000);
}
