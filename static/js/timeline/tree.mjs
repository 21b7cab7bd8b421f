/** The rows of an outline as a tree: a subagent's row holds what happened in it. */

const MATCHES = { tool: "toolCallId", message: "messageId", reasoning: "messageId", activity: "messageId", subagent: "subagentRunId" };
/** Kinds around everything: an event is in one of their rows only if it begins or ends it. */
const WHOLE = new Set(["queue", "attempt"]);

/** The name of a row for people; the first attempt has none, and its id is the run's. */
export const nameOf = (row) => (row.kind === "attempt" ? (row.name || "1").replace("attempt ", "") : row.name || row.id);

/** The rows that belong to no subagent, as `{row, level, parent, children}`. */
export function nest(rows) {
  const lanes = new Map();
  const roots = [];
  for (const row of rows) {
    if (!row) continue;
    const owner = row.kind === "subagent" ? row.lane.at(-2) : row.lane.at(-1);
    const parent = lanes.get(owner) ?? null;
    const node = { row, parent, level: parent ? parent.level + 1 : 1, children: [] };
    (parent?.children ?? roots).push(node);
    if (row.kind === "subagent") lanes.set(row.id, node);
  }
  return { roots, lanes };
}

/** The nodes in sight, in order. Those below a folded subagent are not; `lane` shows only that one. */
export function flatten({ roots, lanes }, folded, lane = "") {
  const only = lanes.get(lane);
  const visible = [];
  const stack = only ? [only] : [...roots].reverse();
  while (stack.length) {
    const node = stack.pop();
    visible.push(node);
    if (!folded.has(node.row.id) || node.row.kind !== "subagent") stack.push(...[...node.children].reverse());
  }
  return visible;
}

/** The row of an event: that of its call, message or subagent, else the innermost one around it. */
export function rowAt(rows, seq, event = null) {
  let around = null;
  for (const row of rows) {
    if (!row || row.seq0 > seq || (WHOLE.has(row.kind) && seq !== row.seq0 && seq !== row.seq1)) continue;
    const id = event?.[MATCHES[row.kind]];
    if (id !== undefined && id === row.id && (row.kind !== "subagent" || seq === row.seq0 || seq === row.seq1)) return row;
    if (row.result === seq) return row;
    const closer = !around || row.seq0 >= around.seq0;
    const holds = (row.seq1 ?? Infinity) >= seq;
    if (holds ? closer || (around.seq1 ?? Infinity) < seq : closer && (around?.seq1 ?? -1) < seq) around = row;
  }
  return around;
}

/** The next row that `accepts` takes after `seq`, or with `back` the last one before. */
export function neighbour(rows, seq, accepts, back = false) {
  let nearest = null;
  for (const row of rows) {
    if (!row || !accepts(row) || (back ? row.seq0 >= seq : row.seq0 <= seq)) continue;
    if (!nearest || (back ? row.seq0 > nearest.seq0 : row.seq0 < nearest.seq0)) nearest = row;
  }
  return nearest;
}
