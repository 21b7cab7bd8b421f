// Reads a run with HostClient and with HostAgent until its history has gone back, and prints what each learned.
import { HostClient, Refused, Reset } from "agui-host-client";
import { HostAgent } from "agui-host-client/agent";
import { Subscription } from "./dist/subscription.mjs";

const { AGUI_URL: url, AGUI_KEY: apiKey } = process.env;
const { run: id, thread, last } = JSON.parse(process.argv[2]);
const headers = { Authorization: `Bearer ${apiKey}` };
const report = { logs: [] };

async function read(events, place, got) {
  for await (const frame of events) {
    got.push(frame.seq);
    if (frame.seq === last) place();
    if (frame.event.type === "RUN_ERROR") break;
  }
  return got;
}

const host = new HostClient({ url, apiKey, onReset: (reset) => report.logs.push(reset.log) });
const strict = new HostClient({ url, apiKey });
const agent = new HostAgent({ url: `${url}/agui/agent/scripted/run`, headers, threadId: thread });
let caughtUp = 0;
const arrived = () => {
  caughtUp += 1;
  if (caughtUp === 3) console.log("ready");
};
const follow = read(host.follow(id), arrived, []);
const threads = read(host.subscribe({ thread }, { after: 0 }), arrived, []);
const refused = read(strict.follow(id), arrived, []).catch((error) => error);
const waits = host.wait(id);
const connected = agent.connectAgent().catch((error) => error);
const failure = await connected;
report.agent = { code: failure.code, epoch: failure.epoch, head: failure.head };
report.follow = await follow;
report.threads = await threads;
const error = await refused;
report.strict = error instanceof Reset && { status: error.status, epoch: error.epoch, head: error.head, log: error.log };
report.status = (await waits).status;
const again = new HostAgent({ url: `${url}/agui/agent/scripted/run`, headers, threadId: thread });
await again.connectAgent().catch(() => {});
report.messages = again.messages.length;
report.late = await read(host.follow(id, { after: last + 10 }), () => {}, []);

// A host whose backup was restored in silence refuses cursors that it gave.
report.silent = [];
let opens = 0;
const connection = {
  leave() {},
  acknowledge() {},
  async subscribe(subscription) {
    opens += 1;
    if (opens % 2 === 0) throw new Refused(400, "bad_cursor", "");
    subscription.begin({ subscription: "s" });
    subscription.put({ seq: opens });
    subscription.end({ reason: opens === 1 ? "slow" : "finished" });
  },
};
const onReset = ({ status, log }) => report.silent.push({ status, log });
const options = { after: 0, window: 8, place: ({ seq }) => seq, onReset };
for await (const { seq } of new Subscription(connection, "run.subscribe", { run: id }, options)) report.silent.push(seq);
opens = 1;
const own = new Subscription(connection, "run.subscribe", { run: id }, { ...options, after: 99 });
report.mistaken = await own.next().catch((error) => error.code);

/** The answer to the first request, cut after its first event; other requests come back beyond the head. */
async function cutting(address, init) {
  if (init.headers["Last-Event-ID"]) return fetch(address, { ...init, headers: { ...init.headers, "Last-Event-ID": "99999" } });
  const { status, headers, body } = await fetch(address, init);
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const event = text.search(/id: (\d+-)?1\n/);
    const end = text.indexOf("\n\n", event);
    if (event >= 0 && end >= 0) return new Response(text.slice(0, end + 2), { status, headers });
  }
  return new Response(text, { status, headers });
}
const initialMessages = [{ id: "m", role: "user", content: "go" }];
const cut = new HostAgent({ url: `${url}/agui/agent/scripted/run`, headers, initialMessages, fetch: cutting });
const lost = await cut.runAgent({ forwardedProps: { script: [{ text: "x" }] } }).catch((error) => error);
report.cut = { code: lost.code, status: lost.status };
host.close();
strict.close();
console.log(JSON.stringify(report));
