// A2A's stock JavaScript client against a host: the card leads it to the interface that it prefers.
//
// stdin:  {"url", "key", "gates": where a file lets an agent go on}
// stdout: {CASE: what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { Role, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";

import { playAll, until } from "./cases.mjs";

const { url, key, gates } = JSON.parse(await text(process.stdin));

/** Its own way to bring a credential; all else are its defaults. */
async function connected(agent, credential = key, ...places) {
  const headers = async () => ({ Authorization: `Bearer ${credential}` });
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return new ClientFactory(options).createFromUrl(...(places.length ? places : [agent ? `${url}/a2a/${agent}/` : url]));
}

const part = (value) => ({ content: typeof value === "string" ? { $case: "text", value } : { $case: "data", value } });

/** A message of these texts and values; `script` is for the scripted agent. */
const message = (values, { script, configuration, ...more } = {}) => ({
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: values.map(part),
    metadata: script && { forwardedProps: { script } },
    ...more,
  },
  configuration,
});

const textOf = (parts) => parts.map(({ content }) => (content.$case === "text" ? content.value : "")).join("");
const words = (task) => task.artifacts.map(({ parts }) => textOf(parts)).join("");
const state = ({ status }) => TaskState[status.state];
const failure = (asking) => asking.then(() => null, ({ name, code, message }) => ({ name, code: code ?? null, message }));

/** All of a stream: the task that it begins with, what it adds, the states. */
async function drain(stream, heard = () => {}) {
  const outcome = { task: null, text: "", states: [], question: null };
  for await (const { payload } of stream) {
    const { $case, value } = payload;
    if ($case === "task") [outcome.task, outcome.text] = [value, words(value)];
    if ($case === "artifactUpdate") outcome.text += textOf(value.artifact.parts);
    if ($case === "statusUpdate") {
      outcome.states.push(state(value));
      outcome.question = value.status.message?.parts.map(({ content }) => content.value) ?? null;
    }
    if ((await heard(outcome)) === "leave") break;
  }
  return outcome;
}

async function receiver() {
  const got = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    got.push({ body, token: request.headers["x-a2a-notification-token"], login: request.headers.authorization });
    response.writeHead(204).end();
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { got, url: `http://127.0.0.1:${server.address().port}/told` };
}

const CASES = {
  async card() {
    const names = [];
    for (const agent of ["docs", ""]) {
      const client = await connected(agent);
      names.push({ name: client.agentCard.name, skills: client.agentCard.skills.map(({ id }) => id) });
    }
    return { names, refused: await failure(connected("docs", "wrong")) };
  },
  /** Every address that names the agent, and the card's path where the SDK needs it. */
  async addresses() {
    const card = ".well-known/agent-card.json";
    const outcome = {};
    for (const [name, place, path] of [
      ["slash", "a2a/scripted/"], ["no path", "a2a/scripted", ""], ["card", `a2a/scripted/${card}`, ""],
      ["host", "", `a2a/scripted/${card}`],
    ]) {
      const client = await connected("", key, `${url}/${place}`, path);
      const task = await client.sendMessage(message(["hello"], { script: [{ text: "Hi." }] }));
      outcome[name] = [client.agentCard.name, words(task)];
    }
    return outcome;
  },
  async send() {
    const client = await connected("scripted");
    const first = await client.sendMessage(message(["hello"], { script: [{ text: "Hi." }] }));
    const { contextId } = first;
    const second = await client.sendMessage(message(["Again."], { contextId, script: [{ text: "Hi again." }] }));
    const { tasks, totalSize } = await client.listTasks({ contextId, status: TaskState.TASK_STATE_UNSPECIFIED, includeArtifacts: true });
    const failed = await client.sendMessage(message(["x"], { script: [{ text: "So far." }, { raise: "no" }] }));
    return {
      first: { state: state(first), text: words(first), history: first.history.map(({ parts }) => textOf(parts)) },
      second: { state: state(second), text: words(second), same: second.contextId === contextId },
      listed: { texts: tasks.map(words), totalSize },
      failed: { state: state(failed), text: words(failed), message: textOf(failed.status.message.parts) },
    };
  },
  async stream() {
    const client = await connected("scripted");
    const script = [{ text: "One\u2028two\x85three \u{1f600}." }, { text: "x", n: 20 }];
    const { task, text, states } = await drain(client.sendMessageStream(message(["hello"], { script })));
    const whole = await client.getTask({ id: task.id, tenant: "" });
    return { text, states, whole: words(whole), state: state(whole), late: await failure(drain(client.resubscribeTask({ id: task.id }))) };
  },
  /** One reader leaves in mid-answer and subscribes again; the other comes late. */
  async resubscribe() {
    const gate = `${gates}/resubscribe`;
    const client = await connected("scripted");
    const script = [{ text: "So far." }, { until: gate }, { text: " And the rest." }];
    const begun = await drain(client.sendMessageStream(message(["hello"], { script })), ({ text }) => text && "leave");
    const ids = { id: begun.task.id, tenant: "" };
    const joined = [];
    const readers = [client, await connected("scripted")].map((each) =>
      drain(each.resubscribeTask(ids), async ({ task }) => {
        joined.push(task.id);
        if (joined.length === 2) await writeFile(gate, "");
      }),
    );
    const texts = (await Promise.all(readers)).map(({ text }) => text);
    return { begun: begun.text, texts, whole: words(await client.getTask(ids)) };
  },
  async cancel() {
    const client = await connected("scripted");
    const script = [{ text: "So far." }, { forever: true }];
    let cancelled = null;
    const { task, states } = await drain(client.sendMessageStream(message(["hello"], { script })), async ({ task, text }) => {
      if (text && !cancelled) cancelled = await client.cancelTask({ id: task.id, tenant: "" });
    });
    const again = await failure(client.cancelTask({ id: task.id, tenant: "" }));
    return { cancelled: state(cancelled), text: words(cancelled), states, again };
  },
  async question() {
    const client = await connected("approval");
    const asked = await drain(client.sendMessageStream(message(["delete report.txt"])));
    const { id } = asked.task;
    const wrong = await failure(client.sendMessage(message([{ approved: "?" }], { taskId: id })));
    const done = await drain(client.sendMessageStream(message([{ approved: true }], { taskId: id })));
    const whole = await client.getTask({ id, tenant: "" });
    return { asked: { states: asked.states, question: asked.question }, wrong, done: { states: done.states, text: done.text, same: done.task.id === id }, whole: words(whole) };
  },
  async push() {
    const client = await connected("scripted");
    const [one, other] = [await receiver(), await receiver()];
    const gate = `${gates}/push`;
    const login = { scheme: "Bearer", credentials: "theirs" };
    const config = { id: "mine", taskId: "", tenant: "", url: one.url, token: "secret", authentication: login };
    const configuration = { acceptedOutputModes: [], returnImmediately: true, taskPushNotificationConfig: config };
    const script = [{ text: "So far." }, { until: gate }];
    const { id: taskId } = await client.sendMessage(message(["hello"], { script, configuration }));
    const made = await client.createTaskPushNotificationConfig({ ...config, id: "second", taskId, url: other.url, token: "", authentication: undefined });
    const gone = await client.createTaskPushNotificationConfig({ ...config, id: "third", taskId, url: other.url });
    const id = (each) => ({ taskId, tenant: "", id: each.id });
    const known = await client.getTaskPushNotificationConfig(id(made));
    await client.deleteTaskPushNotificationConfig(id(gone));
    const { configs } = await client.listTaskPushNotificationConfig({ taskId, tenant: "", pageSize: 0, pageToken: "" });
    await writeFile(gate, "");
    const ended = ({ got }) => got.some(({ body }) => body.task?.status.state === "TASK_STATE_COMPLETED");
    await until(() => ended(one) && ended(other));
    const last = one.got.at(-1);
    return {
      known: known.url === other.url,
      ids: configs.map(({ id }) => id).sort(),
      last: { token: last.token, login: last.login, text: textOf(last.body.task.artifacts[0].parts.map((each) => part(each.text))) },
      second: other.got.length > 0,
      ours: one.got.every(({ body }) => (body.task?.id ?? body.statusUpdate?.taskId) === taskId),
      refused: await failure(client.createTaskPushNotificationConfig({ ...config, taskId, url: "http://10.0.0.1/" })),
    };
  },
  async refusals() {
    const client = await connected("scripted");
    const nobody = { id: "01890000-0000-7000-8000-000000000000", tenant: "" };
    return {
      get: await failure(client.getTask(nobody)),
      cancel: await failure(client.cancelTask(nobody)),
      subscribe: await failure(drain(client.resubscribeTask(nobody))),
      send: await failure(client.sendMessage(message(["x"], { taskId: nobody.id }))),
    };
  },
};

await playAll(CASES);
