/** The log of a long run: the pages of it that are looked at, read on demand. */

import { read } from "../api.mjs";
import { seqOf } from "../cursors.mjs";

const PAGE = 500;
/** Pages in memory; the least recently wanted goes first. */
const KEPT = 40;
/** Pages that wait to be read: who scrolls fast wants only the last ones. */
const WAITING = 3;
const PAUSE = 2000;

export class PagedLog {
  /** `url`: the host's JSON pages; `size`: the newest event. `onLoad()` is told when events came. */
  constructor({ url, size, onLoad }) {
    Object.assign(this, { url, size, onLoad, pages: new Map(), hits: new Map(), wishes: [], busy: false, query: "", start: null });
    this.begin();
  }

  /** When the first event happened, from which the table counts. */
  async begin() {
    const part = await this.read("after=0&limit=1").catch(() => null);
    this.start = part?.events[0]?.event.timestamp ?? null;
    this.onLoad();
  }

  get(seq) {
    return this.pages.get(pageOf(seq))?.[(seq - 1) % PAGE] ?? this.hits.get(seq);
  }

  /** The page needs this event: read the events around it. */
  want(seq) {
    if (seq < 1 || seq > this.size || this.get(seq)) return;
    const page = pageOf(seq);
    if (page === this.reading || this.wishes.includes(page)) return;
    this.wishes = [...this.wishes, page].slice(-WAITING);
    if (!this.busy) this.pump();
  }

  async pump() {
    this.busy = true;
    while (this.wishes.length) {
      this.reading = this.wishes.pop();
      try {
        await this.load(this.reading);
        this.reading = null;
        this.onLoad();
      } catch {
        // The host is away, or has dropped the run; the stream of the page shows which.
        this.reading = null;
        await new Promise((done) => setTimeout(done, PAUSE));
      }
    }
    this.busy = false;
  }

  /** Read one page; the host ends an answer early when its events are large. */
  async load(page) {
    const end = Math.min((page + 1) * PAGE, this.size);
    for (let after = `*-${page * PAGE}`; seqOf(after) < end; ) {
      const part = await this.read(`after=${after}&limit=${end - seqOf(after)}`);
      if (!part.events.length) break;
      for (const { seq, event } of part.events) this.keep(seq, entryOf(event));
      after = part.after;
    }
  }

  /** The events from `first` to `last`, one after the other; missing ones are read. */
  async *between(first, last) {
    for (let seq = first; seq <= last; seq += 1) {
      if (!this.get(seq)) await this.load(pageOf(seq));
      const entry = this.get(seq);
      if (entry) yield [seq, JSON.parse(entry.raw)];
    }
  }

  read(query) {
    return read(`${this.url}?${query}`);
  }

  keep(seq, entry) {
    const number = pageOf(seq);
    const page = this.pages.get(number) ?? [];
    this.pages.delete(number);
    this.pages.set(number, page);
    page[(seq - 1) % PAGE] ??= entry;
    if (this.pages.size > KEPT) this.pages.delete(this.pages.keys().next().value);
  }

  /** The stream brought an event. */
  push(seq, event, raw) {
    this.size = Math.max(this.size, seq);
    this.keep(seq, { type: event.type, timestamp: event.timestamp, raw });
  }

  /** Tell `onHits(seqs, complete)` which events are of types that contain `query`, as far as they were searched. */
  search(query, onHits) {
    Object.assign(this, { query, onHits, searched: 0, searching: false });
    this.hits.clear();
    this.more();
  }

  /** Search on until there are more hits. */
  async more() {
    const { query, onHits } = this;
    if (this.searching || seqOf(this.searched) >= this.size) return;
    this.searching = true;
    const seqs = [];
    try {
      while (!seqs.length && seqOf(this.searched) < this.size) {
        const part = await this.read(`type=${encodeURIComponent(query)}&after=${this.searched}`);
        if (query !== this.query || onHits !== this.onHits) return;
        for (const { seq, event } of part.events) {
          this.hits.set(seq, entryOf(event));
          seqs.push(seq);
        }
        this.searched = part.after;
      }
    } catch {
      await new Promise((done) => setTimeout(done, PAUSE));
    }
    this.searching = false;
    if (query === this.query) onHits(seqs, seqOf(this.searched) >= this.size);
  }
}

function pageOf(seq) {
  return Math.floor((seq - 1) / PAGE);
}

function entryOf(event) {
  return { type: event.type, timestamp: event.timestamp, raw: JSON.stringify(event) };
}
