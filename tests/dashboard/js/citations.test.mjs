import assert from "node:assert/strict";
import { test } from "node:test";

import { citationsOf, withReview } from "../../../static/js/citations.mjs";

const message = {
  messageId: "m",
  citations: { a1: { key: "a1", quote: "q", source: null } },
  verifications: { a1: { status: "verified" } },
  summary: { total: 1, verified: 1, partial: 0, missed: 0, pending: 0 },
  status: "complete",
};
const state = { other: 1, deepcitation: { citations: {}, verifications: {}, messages: { m: message } } };

test("one message's part is selected", () => {
  const { citations, verifications, summary, status } = citationsOf(state, "m");
  assert.deepEqual({ citations, verifications, summary, status }, {
    citations: message.citations,
    verifications: message.verifications,
    summary: message.summary,
    status: "complete",
  });
  assert.equal(citationsOf({ mine: state.deepcitation }, "m", "mine").status, "complete");
});

test("what is not there is empty, also by the names of prototypes", () => {
  for (const nothing of [undefined, null, 5, {}, [], { deepcitation: null }]) {
    assert.equal(citationsOf(nothing, "m").status, undefined);
    assert.deepEqual(citationsOf(nothing, "m").citations, {});
  }
  for (const name of ["x", "constructor", "__proto__", "toString"]) {
    assert.deepEqual(citationsOf(state, name).summary.total, 0);
  }
});

test("a review is added without changing the state", () => {
  const once = withReview(state, "m", "a1", "open");
  const twice = withReview(once, "m", "a1", "close");
  assert.equal(state.deepcitation.reviews, undefined);
  assert.equal(twice.other, 1);
  assert.deepEqual(twice.deepcitation.messages, state.deepcitation.messages);
  assert.deepEqual(twice.deepcitation.reviews.map(({ action }) => action), ["open", "close"]);
});
