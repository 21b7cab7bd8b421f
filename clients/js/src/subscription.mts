/** A subscription: the frames of a run, of a thread or of the team's feed, in order, each once. */

import type { Connection } from "./connection.mjs";
import { Refused, Reset } from "./errors.mjs";
import type { Members } from "./types.mjs";

/** What becomes of the reasons for which the host ends a subscription early. */
const REFUSED: Record<string, () => Refused> = {
  purged: () => new Refused(410, "purged", "The events after this position were erased."),
  revoked: () => new Refused(403, "forbidden", "You can no longer read this."),
};

type Item = { frame: Members } | { error: unknown } | { end: string };

/** Bounded by its `window`: the host sends no more than that without an acknowledgement. */
export class Subscription implements AsyncIterableIterator<Members, undefined> {
  name: string | null = null;
  readonly method: string;
  readonly #connection: Connection;
  readonly #target: Members;
  readonly #window: number;
  readonly #place: (frame: Members) => unknown;
  readonly #onReset: (reset: Reset) => void;
  #after: unknown;
  #items: Item[] = [];
  #taken = 0;
  #arrived: (() => void) | null = null;
  #begun = false;
  /** Whether `#after` is a place that this host gave: only a log that went back lacks it. */
  #isFromHost = false;
  #over = false;

  /**
   * `after` is where to begin, and `place` makes the same of a frame. `onReset` is called before all
   * is read again from its start; it may throw instead.
   */
  constructor(
    connection: Connection,
    method: string,
    target: Members,
    options: { after: unknown; window: number; place: (frame: Members) => unknown; onReset: (reset: Reset) => void },
  ) {
    this.method = method;
    this.#connection = connection;
    this.#target = target;
    this.#after = options.after;
    this.#window = options.window;
    this.#place = options.place;
    this.#onReset = options.onReset;
  }

  /** The parameters of the request that continues here. */
  get params(): Members {
    const after = this.#after === undefined ? {} : { after: this.#after };
    return { ...this.#target, ...after, window: this.#window };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Members, undefined>> {
    if (this.#over) return { done: true, value: undefined };
    try {
      if (!this.#begun) {
        this.#begun = true;
        await this.#open();
      }
      const frame = await this.#take();
      if (frame !== undefined) return { done: false, value: frame };
    } catch (error) {
      await this.return();
      throw error;
    }
    return this.return();
  }

  /** Leave: what `break` in a `for await` calls. The run continues. */
  async return(): Promise<IteratorResult<Members, undefined>> {
    this.#over = true;
    this.#connection.leave(this);
    this.#arrived?.();
    return { done: true, value: undefined };
  }

  async #take(): Promise<Members | undefined> {
    for (;;) {
      while (!this.#items.length) {
        if (this.#over) return undefined;
        await new Promise<void>((resolve) => (this.#arrived = resolve));
      }
      const item = this.#items.shift()!;
      if ("error" in item && !(item.error instanceof Reset)) throw item.error;
      if ("frame" in item) {
        this.#after = this.#place(item.frame);
        this.#isFromHost = true;
        this.#acknowledge(item.frame);
        return item.frame;
      }
      if ("error" in item) this.#restart(item.error as Reset);
      else if (item.end === "finished") return undefined;
      await this.#open(); // The host gave up waiting for acknowledgements, or its history went back.
    }
  }

  async #open(): Promise<void> {
    try {
      await this.#connection.subscribe(this);
    } catch (refused) {
      const error = this.#meant(refused);
      if (!(error instanceof Reset)) throw error;
      this.#restart(error);
      await this.#connection.subscribe(this);
    }
  }

  /** A host whose backup was restored in silence takes its own cursor for a client's mistake. */
  #meant(error: unknown): unknown {
    const isLost = this.#isFromHost && error instanceof Refused && error.code === "bad_cursor";
    return isLost ? new Reset(undefined, undefined) : error;
  }

  #restart(reset: Reset): void {
    this.#after = 0;
    this.#isFromHost = false;
    reset.log = this.#target;
    this.#onReset(reset);
  }

  #acknowledge({ run, seq, cursor }: Members): void {
    if (++this.#taken * 4 < this.#window) return;
    this.#taken = 0;
    this.#connection.acknowledge(this, { run, seq, cursor });
  }

  // --- called by the connection

  /** The host has opened it. */
  begin(result: Members): void {
    this.name = result["subscription"];
    this.#taken = 0;
    if (this.#after != null) return;
    this.#after = result["cursor"];
    this.#isFromHost = true;
  }

  /** The socket broke: what was not taken comes again. */
  rewind(): void {
    this.name = null;
    this.#items = [];
  }

  put(frame: Members): void {
    this.#push({ frame });
  }

  end({ reason, epoch, head }: Members): void {
    this.name = null;
    const refused = reason === "reset" ? new Reset(epoch, head) : REFUSED[reason]?.();
    this.#push(refused ? { error: refused } : { end: reason });
  }

  fail(error: unknown): void {
    this.name = null;
    this.#push({ error: this.#meant(error) });
  }

  #push(item: Item): void {
    this.#items.push(item);
    this.#arrived?.();
  }
}
