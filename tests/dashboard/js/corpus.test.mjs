import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Fold } from "../../../static/js/fold.mjs";
import { applyPatch } from "../../../static/js/json-patch.mjs";

const corpus = (name) => JSON.parse(readFileSync(new URL(`../../protocol/fold/${name}.json`, import.meta.url)));
const CASES = corpus("patches");
const LOGS = corpus("logs");
const SHOWN = new Set(["message", "tool", "reasoning", "activity"]);

/**
 * The items of a conversation on a page, by kind and id. A message without words can be one that only
 * calls; of several results without a call, which a page shows as one, the owners can differ.
 */
function shown(fold) {
  const items = fold.items.filter(({ kind }) => SHOWN.has(kind)).map(({ kind, id, role, name, owner, text, attachments, result, content }) =>
    ({ kind, id, role, name, owner: kind === "tool" && !name ? undefined : owner, text: text?.all() ?? "", attachments: attachments ?? [], result: result ?? null, content }));
  const byKey = (one, other) => (`${one.kind}:${one.id}` < `${other.kind}:${other.id}` ? -1 : 1);
  const speaking = items.filter(({ kind, text, attachments }) => kind !== "message" || text || attachments.length);
  return JSON.parse(JSON.stringify(speaking.sort(byKey)));
}

function folded(events) {
  const fold = new Fold();
  events.forEach((event, index) => fold.feed(index + 1, structuredClone(event)));
  return fold;
}

test("the dashboard's patches do what the host's do", () => {
  for (const { document, patch, ...expected } of CASES) {
    const about = JSON.stringify({ document, patch });
    const held = structuredClone(document);
    let made;
    try {
      made = { result: applyPatch(held, structuredClone(patch)) };
    } catch (error) {
      assert.ok(!("result" in expected), `${about}: ${error.message}`);
      assert.deepEqual(held, document, `${about}: the document is as it was`);
      continue;
    }
    assert.ok("result" in expected, `${about} fails on the host`);
    assert.deepEqual(made, expected, about);
  }
});

test("the dashboard's pages show what the host's fold has", () => {
  for (const { events, messages, state } of LOGS) {
    const made = folded(events);
    const whole = folded([{ type: "MESSAGES_SNAPSHOT", messages }]);
    const about = JSON.stringify(events);
    assert.deepEqual(made.state, state, about);
    assert.deepEqual(shown(made), shown(whole), about);
  }
});
