/** Markdown as nodes: what becomes an element, what stays text, and how long hostile text takes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { tree } from "../../../static/js/markdown.mjs";

const AUTO = { dir: "auto" };
const p = (...children) => ["p", AUTO, ...children];

const CASES = {
  "plain text": ["a < b & c", [p("a < b & c")]],
  "a line break": ["a\nb", [p("a\nb")]],
  "an entity": ["a &lt; b", [p("a < b")]],
  marks: ["**a** *b* `c<` ~~d~~", [p(["strong", {}, "a"], " ", ["em", {}, "b"], " ", ["code", {}, "c<"], " ", ["del", {}, "d"])]],
  "a heading": ["# a", [["h3", AUTO, "a"]]],
  "a deep heading": ["###### a", [["h6", AUTO, "a"]]],
  "a block of code": ["```js\na<b\n```", [["pre", { "data-language": "js", tabindex: 0 }, "a<b"]]],
  "a quotation": ["> a", [["blockquote", {}, p("a")]]],
  "a list that begins at 3": ["3. a\n4. b", [["ol", { start: 3 }, ["li", AUTO, ["span", AUTO, "a"]], ["li", AUTO, ["span", AUTO, "b"]]]]],
  tasks: ["- [x] a\n- [ ] b", [["ul", { start: null }, ["li", AUTO, "☑ ", ["span", AUTO, "a"]], ["li", AUTO, "☐ ", ["span", AUTO, "b"]]]]],
  "HTML": ["<b onclick=x>a</b>", [p("<b onclick=x>", "a", "</b>")]],
  "a script": ["<script>a</script>", ["<script>a</script>"]],
};

for (const [name, [text, expected]] of Object.entries(CASES)) {
  test(name, () => assert.deepEqual(tree(text), expected));
}

test("a table", () => {
  const [[tag, , table]] = tree("| a | b |\n| --- | --: |\n| 1 | 2 |");
  assert.equal(tag, "div");
  assert.deepEqual(table[3][2], ["tr", {}, ["td", { ...AUTO, "data-align": null }, "1"], ["td", { ...AUTO, "data-align": "right" }, "2"]]);
});

for (const href of ["https://a.example/b", "mailto:ann@a.example"]) {
  test(`a link to ${href}`, () => {
    const [[, , [tag, attributes, text]]] = tree(`[a](${href})`);
    assert.deepEqual([tag, attributes.href, attributes.rel, text], ["a", href, "noopener noreferrer nofollow", "a"]);
  });
}

for (const href of ["javascript:alert(1)", "data:text/html,a", "/api/v1/runs", "vbscript:a", "JaVaScRiPt:a"]) {
  test(`no link to ${href}`, () => assert.deepEqual(tree(`[a](${href})`), [p(["span", {}, "a"])]));
}

test("an image is a link: the page loads nothing of others", () => {
  const [[, , [tag, attributes, text]]] = tree("![a](https://a.example/b.png)");
  assert.deepEqual([tag, attributes.href, text], ["a", "https://a.example/b.png", "a"]);
});

const MANY = 30_000;
const HOSTILE = {
  brackets: "[", links: "[a](", stars: "*a ", underscores: "_a", quotes: ">", lists: "- ", ticks: "`a``", HTML: "<a ", mail: "a.b",
  tables: "|a|\n|-|\n", numbers: "1. a\n\n", headings: "a\n=\n", entities: "&#", images: "![", comments: "<!--", lines: "\n",
};

for (const [name, piece] of Object.entries(HOSTILE)) {
  for (const length of [3_900, MANY]) {
    test(`${length} characters of ${name}`, () => {
      const text = piece.repeat(length / piece.length);
      const began = process.cpuUsage();
      assert.ok(Array.isArray(tree(text)));
      const { user, system } = process.cpuUsage(began);
      assert.ok(user + system < 3_000_000, `${(user + system) / 1000} ms`);
    });
  }
}

test("what is longer stays as it was written", () => {
  const text = "*a* ".repeat(MANY);
  assert.deepEqual(tree(text), [text]);
});
