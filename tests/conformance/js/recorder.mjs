// What a client said and saw: its console, and the events of one run as its subscriber got them.

import { AsyncLocalStorage } from "node:async_hooks";

/** Take over the console and Node's own warnings; returns the lines, which go on growing. */
export function captureConsole(lines = []) {
  for (const level of ["debug", "log", "info", "warn", "error", "trace"]) {
    console[level] = (...words) => lines.push(`${level}: ${words.map(readable).join(" ")}`);
  }
  process.on("warning", (warning) => lines.push(`node: ${warning}`));
  return lines;
}

// A console has no idea who speaks; the asynchronous context of a scenario has.
const scope = new AsyncLocalStorage();

/** Take over the console for several scenarios; returns the lines of none of them. */
export function captureConsoles() {
  const nobody = [];
  captureConsole({ push: (line) => (scope.getStore() ?? nobody).push(line) });
  return nobody;
}

/** Play a scenario, whose own lines go to `said`. */
export const heard = (said, play) => scope.run(said, play);

/** Records one run; `enough` is called once `limit` events have come. */
export class Recorder {
  constructor(enough, limit = Infinity) {
    this.seen = { types: [], arrived: [], stamps: [] };
    this.enough = enough;
    this.limit = limit;
  }

  /** Run the agent; a rejection is part of the answer. */
  async run(agent, parameters) {
    try {
      const { result, newMessages } = await agent.runAgent(parameters, this.subscriber());
      Object.assign(this.seen, { result, newMessages: newMessages.map(({ id }) => id) });
    } catch (error) {
      this.seen.rejected = { message: error.message, status: error.status ?? null };
    }
    return this.seen;
  }

  subscriber() {
    const { seen } = this;
    return {
      onEvent: ({ event }) => {
        seen.types.push(event.type);
        seen.arrived.push(Date.now());
        seen.stamps.push(event.timestamp ?? null);
        if (seen.types.length === this.limit) this.enough();
      },
      onRunStartedEvent: ({ event }) => void (seen.runId = event.runId),
      onRunFinishedEvent: ({ outcome, interrupts, pendingToolCallIds }) =>
        void Object.assign(seen, { outcome: outcome ?? "success", interrupts, pendingToolCallIds }),
      onRunErrorEvent: ({ event }) => void (seen.error = { code: event.code, message: event.message }),
      onRunFailed: ({ error }) => void (seen.failed = error.message),
    };
  }
}

function readable(word) {
  if (word instanceof Error) return `${word.name}: ${word.message}`;
  return typeof word === "string" ? word : JSON.stringify(word);
}
