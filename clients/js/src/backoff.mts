/** How long to wait before the next try, and when to give up. */

import { Broken, ConnectionLost } from "./errors.mjs";

const FIRST = 100;
const LONGEST = 5_000;

/** Tries at growing intervals, with jitter, until `timeout` ms have passed since the first failure. */
export class Backoff {
  #tries = 0;
  #since: number | null = null;
  readonly #timeout: number;

  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  succeeded(): void {
    this.#tries = 0;
    this.#since = null;
  }

  /** Wait before the next try, or less if `left` is aborted; anything but a break is thrown at once. */
  async again(error: unknown, left: AbortSignal): Promise<void> {
    if (!(error instanceof Broken)) throw error;
    this.#since ??= Date.now();
    const remaining = this.#since + this.#timeout - Date.now();
    if (remaining <= 0) throw new ConnectionLost(`no answer for ${this.#timeout} ms: ${error.message}`, { cause: error });
    const most = Math.min(LONGEST, FIRST * 2 ** this.#tries++);
    const delay = Math.max(most * (0.5 + Math.random() / 2), error.retryAfter * 1000);
    await sleep(Math.min(delay, remaining), left);
  }
}

async function sleep(ms: number, left: AbortSignal): Promise<void> {
  if (left.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      left.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    left.addEventListener("abort", done);
  });
}
