// Fifty runs over one socket: one asks, one is cancelled, and restarts of the host lose nothing.

import { HostClient } from "agui-host-client";

const { AGUI_URL: url, AGUI_KEY: apiKey } = process.env;
const [runs, steps] = process.argv.slice(2).map(Number);
const host = new HostClient({ url, apiKey });
const name = crypto.randomUUID();
const logs = {};

async function follow(run, cancelAt) {
  const log = (logs[run.id] ??= []);
  for await (const { seq, event } of host.follow(run)) {
    log.push([seq, event]);
    if (seq === cancelAt) await host.cancel(run.id);
  }
}

async function work(number, many = steps, cancelAt) {
  const input = { forwardedProps: { steps: many, seconds: 0.5 } };
  await follow(await host.start({ agent: "slow", input, key: `${name} ${number}` }), cancelAt);
}

async function ask() {
  const messages = [{ id: "1", role: "user", content: "Pay 5 euros to Bob" }];
  const asking = await host.start({ agent: "approval", input: { messages } });
  await follow(asking);
  for await (const question of host.inbox({ run: asking.id })) {
    const { run } = await host.answer(question.id, { approved: true });
    await follow(run);
  }
}

const jobs = Array.from({ length: runs - 2 }, (_, number) => work(number));
await Promise.all([...jobs, ask(), work(runs, 10_000, 20)]);
console.log(JSON.stringify({ sockets: host.socketsOpened, logs }));
host.close();
