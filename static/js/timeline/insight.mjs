/** Where the time went: the name that took the largest share of a run. Independent of pages. */

const ORDER = ["tool", "step", "subagent", "reasoning", "message"];
const WORTH = 0.01;

/** How long at least one of these spans lasted. */
export function covered(spans) {
  let total = 0;
  let reached = -Infinity;
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    total += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return total;
}

/** `{kind, name, share, count, longest}` of the busiest tool, else step, subagent, …; or null. */
export function busiest(rows, scale) {
  const whole = scale.length;
  for (const kind of ORDER) {
    const best = busiestOf(rows, scale, kind);
    if (best && best.time / whole >= WORTH) return { ...best, share: best.time / whole };
  }
  return null;
}

function busiestOf(rows, scale, kind) {
  const names = new Map();
  for (const row of rows) {
    if (row?.kind !== kind) continue;
    const span = scale.span(row);
    const known = names.get(row.name) ?? { kind, name: row.name, spans: [], longest: row, most: -1 };
    known.spans.push(span);
    if (span[1] - span[0] > known.most) Object.assign(known, { longest: row, most: span[1] - span[0] });
    names.set(row.name, known);
  }
  let best = null;
  for (const { spans, ...known } of names.values()) {
    const time = covered(spans);
    if (!best || time > best.time) best = { ...known, time, count: spans.length };
  }
  return best;
}

/** How long a node lasted without anything that happened in it. */
export function selfTime(node, scale) {
  const [from, to] = scale.span(node.row);
  const inside = node.children.map((child) => scale.span(child.row)).map(([a, b]) => [Math.max(a, from), Math.min(b, to)]);
  return to - from - covered(inside.filter(([a, b]) => b > a));
}
