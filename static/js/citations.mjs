/** One message's citations, out of the state that the host's `citations` middleware keeps. */
const NOTHING = { total: 0, verified: 0, partial: 0, missed: 0, pending: 0 };
const own = (object, key) => object !== null && typeof object === "object" && Object.hasOwn(object, key) ? object[key] : undefined;
/** `{citations, verifications, summary, status, error?}`; status is undefined for an unknown message. */
export function citationsOf(state, messageId, key = "deepcitation") {
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
export function withReview(state, messageId, citation, action, key = "deepcitation") {
    const tree = own(state, key) ?? {};
    const before = own(tree, "reviews");
    const reviews = [...(Array.isArray(before) ? before : []), { messageId, citation, action }];
    return { ...state, [key]: { ...tree, reviews } };
}
