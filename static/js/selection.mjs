/** The page's selection: a tab, an event and a lane. Nothing else writes the page's address.
 *
 * The address is `#TAB&seq=12&lane=ID`; `#seq=12` alone is that event in the tab of the events.
 */

const EVENTS = "events";
/** Browsers refuse an address that changes too often; a walk by keys changes it this often. */
const PAUSE = 200;

export function parse(hash, tabs, first) {
  const parts = hash.replace(/^#/, "").split("&");
  const value = (name) => parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
  const seq = /^\d{1,10}$/.test(value("seq") ?? "") ? Number(value("seq")) : 0;
  const tab = tabs.find((name) => parts.includes(name)) ?? (seq && tabs.includes(EVENTS) ? EVENTS : first);
  return { tab, seq, lane: decoded(value("lane") ?? "") };
}

export function format({ tab, seq, lane }) {
  const parts = [seq && tab === EVENTS ? "" : tab, seq ? `seq=${seq}` : "", lane ? `lane=${encodeURIComponent(lane)}` : ""];
  return `#${parts.filter(Boolean).join("&")}`;
}

export class Selection {
  /** `onChange(now, before)` is told of every change, also of those by Back. */
  constructor({ tabs, first, onChange }) {
    Object.assign(this, { tabs, first, onChange, timer: 0, walking: false });
    this.now = parse(location.hash, tabs, first);
    addEventListener("hashchange", () => this.returned());
  }

  /** `step`: one of many in a row; Back leaves all of them at once. */
  set(change, { step = false } = {}) {
    const before = this.now;
    const now = { ...before, ...change };
    if (Object.keys(now).every((name) => now[name] === before[name])) return;
    if (step && this.walking) this.timer ||= setTimeout(() => this.settle(), PAUSE);
    else {
      this.settle();
      history.pushState(null, "", format(now));
    }
    this.walking = step;
    this.now = now;
    this.onChange(now, before);
  }

  /** Bring the address up to date after a walk. */
  settle() {
    if (this.timer) history.replaceState(null, "", format(this.now));
    clearTimeout(this.timer);
    this.timer = 0;
  }

  returned() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: 0, walking: false });
    const before = this.now;
    this.now = parse(location.hash, this.tabs, this.first);
    this.onChange(this.now, before);
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
