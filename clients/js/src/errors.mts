/** The errors that this client raises on purpose. */

export class HostError extends Error {
  override name = "HostError";
}

/** The host refused: `status` (HTTP, or a WebSocket close code), and its `code`. */
export class Refused extends HostError {
  override name = "Refused";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(`${status} ${code}: ${message}`);
  }
}

/**
 * The host's database lost the newest events that you have: its history went back. What you have of
 * this log may be no part of it; read again, it comes from its first event.
 */
export class Reset extends Refused {
  override name = "Reset";
  /** What was read: `{run}`, `{thread_id}`, or nothing for the feed. */
  log: Record<string, any> = {};

  /** The epoch of the history, and the newest `seq` there is now, where the host names them. */
  constructor(
    readonly epoch: number | undefined,
    readonly head: number | undefined,
    status = 410,
  ) {
    super(status, "reset", "The history of the host's database went back.");
  }
}

/** The host could not be reached for as long as `timeout` allows. Runs continue without readers. */
export class ConnectionLost extends HostError {
  override name = "ConnectionLost";
}

/** A break after which the same may work later; callers of this package never see it. */
export class Broken extends Error {
  constructor(
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

/** HTTP statuses after which the same request may succeed later. */
export const AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);
