// Reads a run with HostClient and with HostAgent until its history has gone back, and prints what each learned.
import { HostClient, Reset } from "agui-host-client";
import { HostAgent } from "agui-host-client/agent";

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
host.close();
strict.close();
console.log(JSON.stringify(report));
