// CopilotKit's runtime with its in-memory runner, and an agent that emits what the host's
// `scripted` agent emits for {"text": "", "n": …}. `node server.mjs PORT`.

import { createServer } from "node:http";
import { setImmediate as turn } from "node:timers/promises";

import { AbstractAgent, EventType } from "@ag-ui/client";
import { CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { Observable } from "rxjs";

class Scripted extends AbstractAgent {
  run(input) {
    return new Observable((subscriber) => {
      play(input, subscriber).then(
        () => subscriber.complete(),
        (error) => subscriber.error(error),
      );
    });
  }
}

async function play({ threadId, runId, forwardedProps }, subscriber) {
  subscriber.next({ type: EventType.RUN_STARTED, threadId, runId });
  for (const { n } of forwardedProps?.script ?? []) {
    const messageId = crypto.randomUUID();
    subscriber.next({ type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" });
    for (let i = 0; i < n; i += 1) {
      const delta = `${(Date.now() / 1000).toFixed(6)} ${i}`;
      subscriber.next({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta });
      await turn(); // A model's deltas come one by one, and runs give way to each other.
    }
    subscriber.next({ type: EventType.TEXT_MESSAGE_END, messageId });
  }
  subscriber.next({ type: EventType.RUN_FINISHED, threadId, runId });
}

const runtime = new CopilotRuntime({
  agents: { scripted: new Scripted() },
  runner: new InMemoryAgentRunner(),
});
const listener = createCopilotNodeListener({ runtime, basePath: "/agui" });
createServer(listener).listen(Number(process.argv[2]), "127.0.0.1", 2048);
