// Judges event sequences with the stock client: its enforcement, chunk expansion, verifier and
// reducer, as one `connectAgent` call runs them.
//
// stdin:  one JSON per line: {"events", "messages"?, "state"?}, the last two what the client holds
// stdout: one JSON per line: {"refused", "error", "messages", "state", "interrupts", "said"};
//         `refused` is the index of the first event that it does not accept, else null

import { AbstractAgent } from "@ag-ui/client";
import { Observable } from "rxjs";

import { answerAll } from "./cases.mjs";
import { captureConsole } from "./recorder.mjs";

const lines = captureConsole();

class Sequence extends AbstractAgent {
  sent = 0;

  constructor({ events, messages, state }) {
    super({ threadId: "thread", initialMessages: messages });
    if (state !== undefined) this.state = state;
    this.events = events;
  }

  run() {
    throw new Error("judged by connectAgent");
  }

  connect() {
    return new Observable((client) => {
      // A refusal closes the client before `next` returns, so the count tells which event it was.
      for (const event of this.events) {
        client.next(event);
        if (client.closed) return;
        this.sent += 1;
      }
      client.complete();
    });
  }
}

await answerAll(async (question) => {
  lines.length = 0;
  const agent = new Sequence(question);
  let error = null;
  try {
    await agent.connectAgent();
  } catch (refusal) {
    error = refusal.message;
  }
  return {
    refused: error === null ? null : agent.sent,
    error,
    messages: agent.messages,
    state: agent.state,
    interrupts: agent.pendingInterrupts ?? [],
    said: lines,
  };
});
