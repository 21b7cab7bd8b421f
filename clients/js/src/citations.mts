/** One message's citations, out of the state that the host's `citations` middleware keeps. */

export interface Citations {
  citations: Record<string, any>;
  verifications: Record<string, any>;
  summary: Record<string, number>;
  /** Undefined for an unknown message. */
  status: string | undefined;
  error: string | undefined;
}

const NOTHING = { total: 0, verified: 0, partial: 0, missed: 0, pending: 0 };

const own = (object: any, key: string): any =>
  object !== null && typeof object === "object" && Object.hasOwn(object, key) ? object[key] : undefined;

/** `{citations, verifications, summary, status, error?}`; status is undefined for an unknown message. */
export function citationsOf(state: unknown, messageId: string, key = "deepcitation"): Citations {
  const message = own(own(own(state, key), "messages"), messageId);
  return {
    citations: own(message, "citations") ?? {},
    verifications: own(message, "verifications") ?? {},
    summary: own(message, "summary") ?? NOTHING,
    status: own(message, "status"),
    error: own(message, "error"),
  };
}

/** The state to send with the next run, with one more review (`"open"` or `"close"`) in it. */
export function withReview(
  state: any,
  messageId: string,
  citation: string,
  action: "open" | "close",
  key = "deepcitation",
): Record<string, any> {
  const tree = own(state, key) ?? {};
  const before = own(tree, "reviews");
  const reviews = [...(Array.isArray(before) ? before : []), { messageId, citation, action }];
  return { ...state, [key]: { ...tree, reviews } };
}
