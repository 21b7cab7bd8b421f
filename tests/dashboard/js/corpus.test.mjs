import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { applyPatch } from "../../../static/js/json-patch.mjs";

const CASES = JSON.parse(readFileSync(new URL("../../protocol/fold/patches.json", import.meta.url)));

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
