/** The conversation of a run from its outline and its messages, in place of its events. Independent of pages. */

import { messagesOf } from "../messages.mjs";
import { Text } from "../text.mjs";

const SAID = new Set(["message", "reasoning", "tool", "activity"]);

/**
 * Fill a fold from the rows of an outline and the run's messages. `messages` is null as
 * long as they are not known: the items then show the beginning of their texts.
 */
export function retell(fold, rows, messages) {
  const values = new Map(messagesOf(messages ?? []).map((each) => [`${each.kind}:${each.id}`, each]));
  fold.clear();
  const own = new Set(rows.map((row) => `${row.kind}:${row.id}`));
  // Messages without a row came with the input.
  for (const [key, each] of values) if (!own.has(key)) fold.item(each.kind, each.id, 1, each.values);
  for (const row of rows) {
    const known = values.get(`${row.kind}:${row.id}`)?.values;
    // A snapshot may have left out earlier messages.
    if (known || !messages || !SAID.has(row.kind)) TELLERS[row.kind]?.(fold, row, known);
  }
  fold.steps = openSteps(fold, rows);
}

const TELLERS = {
  message: speech,
  reasoning: speech,
  tool: speech,
  activity: (fold, row, known) => fold.item("activity", row.id, row.seq0, { name: row.name, content: row.gist, ...known, ...times(row) }),
  step: (fold, row) => fold.item("step", row.seq0, row.seq0, { name: row.name, ...times(row) }),
  subagent: (fold, row) => fold.item("subagent", row.id, row.seq0, {
    name: row.name, ...times(row), failure: row.status === "failed" ? row.gist || "failed" : undefined,
  }),
};

function speech(fold, row, known = {}) {
  const named = row.kind === "message" ? { role: row.name || "assistant", own: true } : { name: row.name };
  fold.item(row.kind, row.id, row.seq0, { ...named, text: new Text(row.gist), ...known, ...times(row) });
}

function times({ kind, lane, t0, t1, seq1, status }) {
  // The lane of a subagent ends with itself.
  const owner = lane.at(kind === "subagent" ? -2 : -1);
  return { owner, since: t0 ?? undefined, until: t1 ?? undefined, open: seq1 === null && status === "running" };
}

/** The steps that are open, as the fold finds them when they end. */
function openSteps(fold, rows) {
  const open = rows.filter((row) => row.kind === "step" && row.seq1 === null);
  return new Map(open.map((row) => [`${row.lane.at(-1) ?? ""}:${row.name}`, fold.byKey.get(`step:${row.seq0}`)]));
}
