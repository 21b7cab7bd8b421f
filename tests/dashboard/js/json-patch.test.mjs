/** JSON Patch against the examples of RFC 6902, appendix A, and what the RFC leaves to be careless about. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { applyPatch } from "../../../static/js/json-patch.mjs";

const parse = (text) => JSON.parse(text);

const GOOD = [
  ["A.1 add a member", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { foo: "bar", baz: "qux" }],
  ["A.2 add an element", { foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
  ["A.3 remove a member", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
  ["A.4 remove an element", { foo: [1, 2, 3] }, [{ op: "remove", path: "/foo/1" }], { foo: [1, 3] }],
  ["A.5 replace", { baz: "qux" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo" }],
  ["A.6 move a value", { a: { x: 1, y: 2 }, b: {} }, [{ op: "move", from: "/a/x", path: "/b/z" }], { a: { y: 2 }, b: { z: 1 } }],
  ["A.7 move an element", { foo: [1, 2, 3, 4] }, [{ op: "move", from: "/foo/1", path: "/foo/3" }], { foo: [1, 3, 4, 2] }],
  ["A.8 test", { baz: [1, { a: null }] }, [{ op: "test", path: "/baz", value: [1, { a: null }] }], { baz: [1, { a: null }] }],
  ["A.10 add an object", { foo: "bar" }, [{ op: "add", path: "/child", value: { g: {} } }], { foo: "bar", child: { g: {} } }],
  ["A.11 unknown members", { foo: "bar" }, [{ op: "add", path: "/baz", value: 1, xyz: 2 }], { foo: "bar", baz: 1 }],
  ["A.14 ~0 and ~1", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }, { op: "remove", path: "/~1" }], { "~1": 10 }],
  ["A.16 add an array", { foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: [1] }], { foo: ["bar", [1]] }],
  ["an empty key", { "": 1 }, [{ op: "replace", path: "/", value: 2 }], { "": 2 }],
  ["the whole document", { a: 1 }, [{ op: "replace", path: "", value: [3] }, { op: "add", path: "/-", value: 4 }], [3, 4]],
  ["copy is a copy", { a: { n: 1 } }, [{ op: "copy", from: "/a", path: "/b" }, { op: "replace", path: "/b/n", value: 2 }], { a: { n: 1 }, b: { n: 2 } }],
  ["add over a member", { a: 1 }, [{ op: "add", path: "/a", value: null }], { a: null }],
];
for (const [name, document, patch, expected] of GOOD) {
  test(name, () => assert.deepEqual(applyPatch(document, patch), expected));
}

const BAD = [
  ["A.9 a test that fails", { a: "x" }, { op: "test", path: "/a", value: "y" }],
  ["A.12 a missing target", { a: 1 }, { op: "add", path: "/b/c", value: 1 }],
  ["A.15 text is not a number", { a: "10" }, { op: "test", path: "/a", value: 10 }],
  ["remove what is not there", { a: 1 }, { op: "remove", path: "/b" }],
  ["replace what is not there", { a: 1 }, { op: "replace", path: "/b", value: 1 }],
  ["beyond the end", { a: [1] }, { op: "add", path: "/a/2", value: 1 }],
  ["a leading zero", { a: [1, 2] }, { op: "remove", path: "/a/01" }],
  ["replace at the end", { a: [1] }, { op: "replace", path: "/a/-", value: 1 }],
  ["no pointer", { a: 1 }, { op: "remove", path: "a" }],
  ["into a number", { a: 1 }, { op: "add", path: "/a/b", value: 1 }],
  ["into itself", { a: { b: {} } }, { op: "move", from: "/a", path: "/a/b/c" }],
  ["an inherited member", {}, { op: "remove", path: "/toString" }],
  ["no value", { a: 1 }, { op: "replace", path: "/a" }],
  ["an unknown operation", { a: 1 }, { op: "merge", path: "/a", value: 1 }],
];
for (const [name, document, last] of BAD) {
  test(`${name}: nothing changes`, () => {
    const before = structuredClone(document);
    const patch = [
      { op: "add", path: "/x", value: [1] },
      { op: "add", path: "/x/0", value: 0 },
      { op: "copy", from: "/x", path: "/y" },
      { op: "remove", path: "/x/1" },
      { op: "move", from: "/y", path: "/z" },
      last,
    ];
    assert.throws(() => applyPatch(document, patch), Error);
    assert.deepEqual(document, before);
  });
}

test("__proto__ is no path, as in the host and in the stock client", () => {
  const patch = parse('[{"op": "add", "path": "/__proto__", "value": {"evil": true}}]');
  assert.throws(() => applyPatch({}, patch), Error);
  assert.equal({}.evil, undefined);
});
