// The conformance suite of Durable Streams, for servers, run by vitest: its part about reading.
//
// A run of the host is a stream, which its writer opens and feeds in another way than the suite
// does. So the suite's own writes go through a small writer here: PUT opens a run of an external
// agent, POST feeds a CUSTOM event for each value. Its reads go to the host as they are; of the
// answers only the body is turned back, from events to the values in them.
import { randomUUID } from "node:crypto";

import { runConformanceTests } from "@durable-streams/server-conformance-tests";
import { afterAll } from "vitest";

const { AGUI_URL: host, AGUI_KEY: key, AGUI_AGENT: agent } = process.env;
const BASE = "http://streams.invalid";
const headers = { Authorization: `Bearer ${key}` };
const plain = globalThis.fetch;
const streams = new Map();

const json = (type) => /^application\/json\b/i.test(type);
const addressOf = (run, search = "") => `${host}/api/v1/runs/${run}/stream${search}`;

async function nextOffset(run) {
  return (await plain(addressOf(run), { method: "HEAD", headers })).headers.get("stream-next-offset");
}

async function open(path, request) {
  const type = request.headers.get("content-type") ?? "application/octet-stream";
  const body = { agent, input: { threadId: randomUUID() } };
  const made = await plain(`${host}/api/v1/runs`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const stream = { run: (await made.json()).id, type, batches: 0, turn: Promise.resolve() };
  streams.set(path, stream);
  const content = await request.text();
  const closes = request.headers.get("stream-closed") === "true";
  if ((content && content !== "[]") || closes) await feed(stream, content, closes);
  return new Response(null, { status: 201, headers: { Location: BASE + path, "Content-Type": type, "Stream-Next-Offset": await nextOffset(stream.run) } });
}

function feed(stream, content, closes) {
  const value = json(stream.type) && content ? JSON.parse(content) : content;
  const values = !content ? [] : Array.isArray(value) ? value : [value];
  const events = values.map((each) => ({ type: "CUSTOM", name: "value", value: { each } }));
  const send = async () => {
    const place = { "Producer-Id": "writer", "Producer-Epoch": "0", "Producer-Seq": String(stream.batches++) };
    const answer = await plain(addressOf(stream.run), {
      method: "POST",
      headers: { ...headers, ...place, "Content-Type": "application/json", ...(closes ? { "Stream-Closed": "true" } : {}) },
      body: JSON.stringify(events),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    const more = closes ? { "Stream-Closed": "true" } : {};
    return new Response(null, { status: 204, headers: { "Stream-Next-Offset": answer.headers.get("stream-next-offset"), ...more } });
  };
  return (stream.turn = stream.turn.then(send));
}

const valuesOf = (events) => events.filter(({ name }) => name === "value").map(({ value }) => value.each);
const written = (type, events) => (json(type) ? JSON.stringify(valuesOf(events)) : valuesOf(events).join(""));

/** `data` events with the values; control events as they are, without the space that is optional. */
function turned(type) {
  let rest = "";
  return new TransformStream({
    transform(piece, controller) {
      rest += piece;
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      // As one piece: the suite takes words of the data for the frame that follows.
      controller.enqueue(blocks.map((block) => `${frame(block)}\n\n`).join(""));
    },
  });
  function frame(block) {
    if (!block.includes("event: data\n")) return block.replace("\ndata: ", "\ndata:");
    const [head, payload] = block.split("\ndata: ");
    const lines = written(type, JSON.parse(payload)).split(/\r\n|\r|\n/);
    return `${head}\n${lines.map((line) => `data:${line}`).join("\n")}`;
  }
}

async function read(stream, request, search) {
  const type = stream?.type ?? "application/json";
  const answer = await plain(addressOf(stream?.run ?? randomUUID(), search), {
    method: request.method,
    headers: { ...Object.fromEntries(request.headers), ...headers },
    signal: request.signal,
  });
  if (!answer.ok || !answer.body || answer.status === 204) return answer;
  const mime = answer.headers.get("content-type");
  if (mime.includes("event-stream")) {
    const body = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(turned(type)).pipeThrough(new TextEncoderStream());
    return new Response(body, answer);
  }
  return mime.includes("json") ? new Response(written(type, await answer.json()), answer) : answer;
}

globalThis.fetch = async (...args) => {
  const request = new Request(...args);
  const { origin, pathname, search } = new URL(request.url);
  if (origin !== BASE) return plain(request);
  const stream = streams.get(pathname);
  if (request.method === "OPTIONS") return read(stream, request, search);
  if (request.method === "GET" || request.method === "HEAD") return read(stream, request, search);
  if (request.method === "PUT" && !stream) return open(pathname, request);
  if (request.method === "PUT") return new Response(null, { status: 200, headers: { "Content-Type": stream.type, "Stream-Next-Offset": await nextOffset(stream.run) } });
  if (request.method === "POST" && stream) return feed(stream, await request.text(), request.headers.get("stream-closed") === "true");
  return new Response(null, { status: 405 });
};

afterAll(async () => {
  const cancel = ({ run }) => plain(`${host}/api/v1/runs/${run}/cancel`, { method: "POST", headers });
  await Promise.all([...streams.values()].map(cancel));
});

runConformanceTests({ baseUrl: BASE, longPollTimeoutMs: 26_000 });
