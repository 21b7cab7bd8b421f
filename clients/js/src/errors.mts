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
