// Plays scenarios with stock clients, several at a time; what each client made of its own.
//
// stdin:  {"url", "headers", "atOnce", "scenarios": [{"name", "client": "@ag-ui/client" |
//          "ag-ui-client-0", "thread", "gates", "turns": [turn, …]}, …]}
// turn:   {"agent", "says", "parameters", "keep"?, "answer"?, "fresh"?, "reader"?: "host",
//          "at"?: {gate: [action, …]}}; the actions are the keys of ACTIONS below
// stdout: one JSON per line: {"name", "client", "turns": [{types, outcome, …, "holds", "joined"}],
//          "beside", "connected", "said", "replayed": {…, "said"}}, or {"name", "client", "broke"}; at last {"said"}

import { writeFile } from "node:fs/promises";
import { createServer, connect as dial } from "node:net";
import { text } from "node:stream/consumers";

import { clients } from "./clients.mjs";
import { Recorder, captureConsoles, heard } from "./recorder.mjs";

const DEADLINE = 60_000;
const { url: host, headers, atOnce, scenarios } = JSON.parse(await text(process.stdin));

const nobody = captureConsoles();

/** What a client holds at this moment. */
function holds({ messages, state, pendingInterrupts }) {
  return structuredClone({ messages, state, interrupts: (pendingInterrupts ?? []).map(({ id }) => id) });
}

/** Let a client read to the end, and say what came of it. */
async function read(agent, verb, parameters = {}, also = {}) {
  const recorder = new Recorder();
  const { seen } = recorder;
  const told = recorder.subscriber();
  const onEvent = (params) => (told.onEvent(params), also.onEvent?.(params.event));
  try {
    const { result } = await agent[verb](parameters, { ...told, onEvent });
    seen.result = result ?? null;
  } catch (error) {
    seen.rejected = error.message;
  }
  return { ...seen, holds: holds(agent) };
}

class Scenario {
  constructor(plan) {
    Object.assign(this, plan, { joined: [], beside: [], proxies: [], dials: 0 });
  }

  address(agent, base = host) {
    return `${base}/agui/agent/${agent}/run`;
  }

  make(kind, config) {
    return new this.kinds[kind]({ headers, threadId: this.thread, ...config });
  }

  async play() {
    this.kinds = await clients(this.client);
    const turns = [];
    for (const [index, turn] of this.turns.entries()) turns.push(await this.turn(turn, index));
    const beside = await Promise.all(this.beside);
    const connected = await read(this.make("HostAgent", { url: this.address("scripted") }), "connectAgent");
    this.proxies.forEach((proxy) => proxy.close());
    const said = this.said.splice(0);
    const replayed = await this.replay();
    return { turns, beside, connected, said, replayed: { ...replayed, said: this.said } };
  }

  async turn(turn, index) {
    if (turn.fresh || !this.agent) {
      const ours = turn.reader === "host";
      this.base = ours ? await this.proxy() : host;
      this.agent = this.make(ours ? "HostAgent" : "HttpAgent", { url: this.base });
    }
    const { agent } = this;
    agent.url = this.address(turn.agent, this.base);
    if (turn.keep !== undefined) agent.setMessages(agent.messages.slice(0, turn.keep));
    if (turn.state !== undefined) agent.setState(turn.state);
    agent.addMessages(turn.says);
    this.joined = [];
    const parameters = (this.asked = { runId: `run-${index + 1}`, ...turn.parameters });
    if (turn.answer) {
      const questions = agent.pendingInterrupts ?? [];
      parameters.resume = questions.map(({ id }) => ({ interruptId: id, ...turn.answer }));
    }
    const acting = [];
    const seen = await read(agent, "runAgent", parameters, {
      onEvent: (event) => {
        const gate = event.type === "RAW" && event.event?.gate;
        if (gate && !acting[gate]) acting.push((acting[gate] = this.act(gate, turn.at?.[gate] ?? [])));
      },
    });
    await Promise.all(acting);
    return { ...seen, dials: this.dials, joined: await Promise.all(this.joined) };
  }

  /** The actions of a gate, one after the other; then the agent may go on. */
  async act(gate, actions) {
    for (const action of actions) await ACTIONS[action.do](this, action);
    await writeFile(`${this.gates}-${gate}`, "");
  }

  async runs() {
    const query = new URLSearchParams({ thread_id: this.thread, limit: "200" });
    const answer = await fetch(`${host}/api/v1/runs?${query}`, { headers });
    return (await answer.json()).results.reverse();
  }

  /** One stock client reads the raw logs of all runs, from the first event of each. */
  async replay() {
    const getter = this.make("Getter", { url: "" });
    const ends = [];
    let last;
    for (const { id } of await this.runs()) {
      getter.url = `${host}/api/v1/runs/${id}/events?after=0`;
      // The client refuses to start a run while questions stand; this one answers nobody.
      const resume = (getter.pendingInterrupts ?? []).map(({ id }) => ({ interruptId: id, status: "cancelled" }));
      last = await read(getter, "runAgent", { resume });
      if (last.rejected) ends.push(last.rejected);
    }
    return { ...last, rejected: ends[0] };
  }

  /** A reader that comes now; resolves once its first event is there. */
  join(agent, verb, parameters) {
    return new Promise((begun) => {
      const done = read(agent, verb, parameters, { onEvent: begun }).then((seen) => (begun(), seen));
      this.joined.push(done);
    });
  }

  /** The address of a connection that can be cut. */
  async proxy() {
    const { hostname, port } = new URL(host);
    const open = new Set();
    const server = createServer((near) => {
      this.dials += 1;
      const far = dial(port, hostname);
      for (const socket of [near, far]) {
        open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
      }
      near.pipe(far).pipe(near);
      near.on("close", () => far.destroy());
      far.on("close", () => near.destroy());
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    this.cut = () => open.forEach((socket) => socket.destroy());
    this.proxies.push({ close: () => (this.cut(), server.close()) });
    return `http://127.0.0.1:${server.address().port}`;
  }
}

const ACTIONS = {
  /** A fresh client gets the thread by `connectAgent()`. */
  connect: (scene) => scene.join(scene.make("HostAgent", { url: scene.address("scripted") }), "connectAgent"),
  /** One that holds what the reader holds so far. */
  reconnect: (scene) => {
    const { messages, state } = holds(scene.agent);
    const config = { url: scene.address("scripted"), initialMessages: messages, initialState: state };
    return scene.join(scene.make("HostAgent", config), "connectAgent");
  },
  /** A fresh client reads the newest run by GET, without a cursor. */
  get: async (scene) => {
    const { id } = (await scene.runs()).at(-1);
    return scene.join(scene.make("Getter", { url: `${host}/api/v1/runs/${id}/events` }), "runAgent");
  },
  /** A fresh client repeats the request: the same runId. */
  repeat: (scene) => {
    const { messages } = holds(scene.agent);
    const again = scene.make("HttpAgent", { url: scene.agent.url, initialMessages: messages });
    return scene.join(again, "runAgent", scene.asked);
  },
  cut: (scene) => scene.cut(),
  /** The API stops the running run. */
  cancel: async (scene) => {
    if (scene.agent.cancel) return scene.agent.cancel();
    const { id } = (await scene.runs()).at(-1);
    const json = { ...headers, "Content-Type": "application/json" };
    await fetch(`${host}/api/v1/runs/${id}/cancel`, { method: "POST", headers: json, body: "{}" });
  },
  /** Another client sends a message to the busy thread, which waits for its turn. */
  enqueue: async (scene, { says, parameters, agent }) => {
    const other = scene.make("HttpAgent", { url: `${scene.address(agent)}?on_busy=enqueue` });
    other.addMessages(says);
    const count = (await scene.runs()).length;
    scene.beside.push(read(other, "runAgent", parameters));
    while ((await scene.runs()).length === count) await new Promise((soon) => setTimeout(soon, 20));
  },
};

async function play(plan) {
  const said = [];
  const { name, client } = plan;
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error("took too long")), DEADLINE).unref());
  try {
    const seen = await heard(said, () => Promise.race([new Scenario({ ...plan, said }).play(), late]));
    return { name, client, ...seen };
  } catch (error) {
    return { name, client, broke: error.stack };
  }
}

const waiting = scenarios.values();
async function player() {
  for (const plan of waiting) process.stdout.write(`${JSON.stringify(await play(plan))}\n`);
}
await Promise.all(Array.from({ length: atOnce }, player));
process.stdout.write(`${JSON.stringify({ said: nobody })}\n`, () => process.exit(0));
