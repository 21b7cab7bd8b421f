/**
 * HostClient: everything that a program does with runs of a host, over one socket.
 *
 * It starts any number of runs, follows them side by side, answers their questions and cancels
 * them, and is where it was after any break.
 */

import { Connection } from "./connection.mjs";
import { Door, type Fetch, type SocketClass } from "./socket.mjs";
import type { Reset } from "./errors.mjs";
import { Subscription } from "./subscription.mjs";
import type { Cursor, EventFrame, FeedEntry, Interrupt, Members, Run } from "./types.mjs";

export interface HostClientOptions {
  /** Where the host is, such as `https://agents.example.com`; a page's own origin by default. */
  url?: string;
  /** An API key; without it a browser sends its session cookie. */
  apiKey?: string;
  /** ms for which the host may be away before ConnectionLost; 60,000. */
  timeout?: number;
  /** ms without a frame after which the socket counts as broken; 45,000. */
  silence?: number;
  /** Events of one run that may be under way at once, 1 to 10,000; 256. */
  window?: number;
  /**
   * Called when the host's history went back, with the `log` of which nothing that was read counts
   * any more: it then comes again from its first event. Without it, the reading throws `Reset`.
   */
  onReset?: (reset: Reset) => void;
  fetch?: Fetch;
  WebSocket?: SocketClass;
}

export interface Start {
  /** The agent's slug; by default the team's default agent. */
  agent?: string;
  /** A RunAgentInput; ids are minted where absent. */
  input?: Members;
  /** The same key is the same run, also from another process. */
  key?: string;
  onBusy?: "reject" | "enqueue" | "cancel_running";
}

/** An event of a thread's run. */
export interface Position {
  run: string;
  seq: Cursor;
}

export type Target = { run: string } | { thread: string };

export interface Follow<After = Cursor> {
  /** Where to continue: the position of the last event that you have. */
  after?: After;
}

export interface Answered {
  interrupt: Interrupt;
  /** The run that brings the answer; null while other questions of its run are open. */
  run: Run | null;
}

const ENDED = new Set(["succeeded", "interrupted", "cancelled", "failed"]);

export class HostClient {
  readonly #connection: Connection;
  readonly #window: number;
  readonly #onReset: (reset: Reset) => void;

  constructor(options: HostClientOptions = {}) {
    const { apiKey, timeout = 60_000, silence = 45_000, window = 256 } = options;
    const url = options.url ?? globalThis.location?.origin;
    if (!url) throw new TypeError("Name the host: new HostClient({ url })");
    const headers: Record<string, string> = apiKey ? { Authorization: `Bearer ${apiKey}` } : {};
    const wire: Fetch = options.fetch ?? ((address, init) => fetch(address, init));
    this.#connection = new Connection(new Door(url, headers, wire, options.WebSocket), timeout, silence);
    this.#window = window;
    this.#onReset = options.onReset ?? raise;
  }

  /** How many sockets it took so far: one, and one for each break. */
  get socketsOpened(): number {
    return this.#connection.opens;
  }

  /** Start a run. */
  async start({ agent, input = {}, key = fresh(), onBusy }: Start = {}): Promise<Run> {
    const params = { agent, input, idempotency_key: key, on_busy: onBusy };
    return (await this.#connection.call("run.start", params))["run"];
  }

  /** Stop a run; one that has ended stays as it is. */
  async cancel(run: string): Promise<Run> {
    return (await this.#connection.call("run.cancel", { run }))["run"];
  }

  /** Answer a question by the host's own id of it. */
  async answer(interrupt: string, payload?: unknown, status: "resolved" | "cancelled" = "resolved"): Promise<Answered> {
    return (await this.#connection.call("interrupt.answer", { interrupt, status, payload })) as Answered;
  }

  /** The events of a run to its end, or of a thread's runs of now and later, which has none. */
  subscribe(target: { run: string }, options?: Follow): AsyncIterableIterator<EventFrame>;
  subscribe(target: { thread: string }, options?: Follow<0 | Position>): AsyncIterableIterator<EventFrame>;
  subscribe(target: Target, { after }: Follow<Cursor | Position> = {}): AsyncIterableIterator<EventFrame> {
    if ("run" in target) return this.#reading("run.subscribe", target, after ?? 0, placeOf);
    const place = (frame: Members) => ({ run: frame["run"], seq: placeOf(frame) });
    return this.#reading("thread.subscribe", { thread_id: target.thread }, after, place);
  }

  /** The events of one run after `after`, to its end. */
  follow(run: string | { id: string }, options: Follow = {}): AsyncIterableIterator<EventFrame> {
    return this.subscribe({ run: typeof run === "string" ? run : run.id }, options);
  }

  /** What happens to the team's runs and questions, from now or after a `cursor`; it never ends. */
  feed({ after }: Follow = {}): AsyncIterableIterator<FeedEntry> {
    return this.#reading("team.subscribe", {}, after, placeOf);
  }

  /** One run as it is now. */
  async get(run: string): Promise<Run> {
    return this.#connection.fetch(`/api/v1/runs/${run}`);
  }

  /** The run once it has ended. */
  async wait(run: string): Promise<Run> {
    const now = await this.get(run);
    if (ENDED.has(now.status)) return now;
    // Who waits for a run's end has read nothing that could be lost.
    for await (const _ of this.#reading("run.subscribe", { run }, now.events, placeOf, () => {}));
    return this.get(run);
  }

  /** The team's runs, newest first; `filters` such as `status`, `agent`, `thread_id`. */
  list(filters: Record<string, string> = {}): AsyncGenerator<Run> {
    return this.#rows("runs", filters);
  }

  /** The open questions of the team's runs, newest first. */
  inbox(filters: Record<string, string> = {}): AsyncGenerator<Interrupt> {
    return this.#rows("interrupts", { status: "open", ...filters });
  }

  /** Leave; the runs continue. */
  close(): void {
    this.#connection.close();
  }

  #reading(
    method: string,
    target: Members,
    after: unknown,
    place: (frame: Members) => unknown,
    onReset = this.#onReset,
  ): AsyncIterableIterator<any> {
    return new Subscription(this.#connection, method, target, { after, window: this.#window, place, onReset });
  }

  async *#rows(kind: string, filters: Record<string, string>): AsyncGenerator<any> {
    let path: string | null = `/api/v1/${kind}?${new URLSearchParams(filters)}`;
    while (path !== null) {
      const page: Members = await this.#connection.fetch(path);
      yield* page["results"];
      // Behind a proxy the next page's address may name another host.
      const next: URL | null = page["next"] && new URL(page["next"]);
      path = next && next.pathname + next.search;
    }
  }
}

function raise(reset: Reset): never {
  throw reset;
}

function placeOf({ cursor, seq }: Members): Cursor {
  return cursor ?? seq;
}

/** A new key; `crypto.randomUUID` is missing from pages that came over plain HTTP. */
function fresh(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
