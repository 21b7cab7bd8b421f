// Drives TanStack's own webSocket() connection: node tanstack-socket.mjs URL KEY
// Prints what it saw: a whole run, the same run joined again, and a run that was aborted.
import { webSocket } from "@tanstack/ai-client";

const [url, key] = process.argv.slice(2);
let sockets = 0;

class Authorized extends WebSocket {
  constructor(target) {
    super(target, { headers: { Authorization: `Bearer ${key}` } });
    sockets += 1;
  }
}

const connection = webSocket(url, { WebSocketImpl: Authorized });
const thread = crypto.randomUUID();
const ended = new Set(["RUN_FINISHED", "RUN_ERROR"]);

async function turn(content, script, { stopAfter } = {}) {
  const chunks = [], stop = new AbortController(), runId = crypto.randomUUID();
  const inbox = connection.subscribe();
  const reading = (async () => {
    for await (const chunk of inbox) {
      chunks.push(chunk);
      if (chunks.length === stopAfter) stop.abort();
      if (ended.has(chunk.type)) return;
    }
  })();
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", content }] };
  const forwardedProps = { script };
  await connection.send([message], {}, stop.signal, { runId, threadId: thread, forwardedProps });
  await reading;
  return { runId, chunks };
}

const whole = await turn("hello", [{ text: "x", n: 50 }]);
const joined = [];
for await (const chunk of connection.joinRun(whole.runId)) joined.push(chunk);
const stopped = await turn("again", [{ text: "x", n: 10000, rate: 50 }], { stopAfter: 10 });
console.log(JSON.stringify({ sockets, whole, joined, stopped }));
process.exit(0);
