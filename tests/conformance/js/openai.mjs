// The stock OpenAI client against a host: what it makes of each case.
//
// stdin:  {"url", "key"}
// stdout: {case: what came of it}, see CASES

import { text } from "node:stream/consumers";

import OpenAI from "openai";

import { emit, slowCall } from "./cases.mjs";

const DEADLINE = 90_000;
const { url, key } = JSON.parse(await text(process.stdin));
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const script = (...steps) => ({ forwardedProps: { script: steps } });
const slow = { model: "slow", input: "hello", forwardedProps: { steps: 3, seconds: 1 } };
const place = { type: "function", name: "place", description: "where", parameters: { type: "object" } };
const CALL = [
  emit("TOOL_CALL_START", { toolCallId: "c1", toolCallName: "place" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "c1", delta: '{"of":' }),
  emit("TOOL_CALL_ARGS", { toolCallId: "c1", delta: '"me"}' }),
  emit("TOOL_CALL_END", { toolCallId: "c1" }),
];
const EVERYTHING = [
  emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
  emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
  emit("REASONING_MESSAGE_END", { messageId: "r" }),
  emit("TEXT_MESSAGE_START", { messageId: "a", role: "assistant" }),
  emit("TEXT_MESSAGE_CONTENT", { messageId: "a", delta: "I look " }),
  emit("TEXT_MESSAGE_CONTENT", { messageId: "a", delta: "it up." }),
  emit("TEXT_MESSAGE_END", { messageId: "a" }),
  emit("TOOL_CALL_START", { toolCallId: "c", toolCallName: "look_up" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "c", delta: '{"word":"run"}' }),
  emit("TOOL_CALL_END", { toolCallId: "c" }),
  emit("TOOL_CALL_RESULT", { messageId: "t", toolCallId: "c", content: "a run", role: "tool" }),
  emit("STATE_SNAPSHOT", { snapshot: { n: 1 } }),
];

async function drain(stream, most = Infinity) {
  const events = [];
  for await (const event of stream) if (events.push(event) >= most) break;
  return events;
}

async function failure(asking) {
  try {
    await asking;
  } catch ({ status, type, code, message, error }) {
    return { status, type, code, message, error };
  }
  return null;
}

const CASES = {
  async models() {
    const slugs = [];
    for await (const model of client.models.list()) slugs.push(model.id);
    return { slugs, one: await client.models.retrieve("docs") };
  },
  async whole() {
    const made = await client.responses.create({
      model: "scripted",
      input: "hello",
      instructions: "Be brief.",
      metadata: { a: "b" },
      ...script(...EVERYTHING),
    });
    const stream = await client.responses.retrieve(made.id, { stream: true });
    const items = await client.responses.inputItems.list(made.id);
    return { made, again: await client.responses.retrieve(made.id), events: await drain(stream), items: items.data };
  },
  /** The stream is cut, and goes on behind the last number; a second tab joins, a third comes late. */
  async cut() {
    const first = await drain(await client.responses.create({ ...slow, stream: true, background: true }), 8);
    const id = first[0].response.id;
    const after = first.at(-1).sequence_number;
    const readers = [{ stream: true, starting_after: after }, { stream: true }];
    const [rest, second] = await Promise.all(readers.map(async (how) => drain(await client.responses.retrieve(id, how))));
    const whole = await drain(await client.responses.retrieve(id, { stream: true }));
    return { first, rest, second, whole, final: await client.responses.retrieve(id) };
  },
  /** The same in the middle of a call's arguments. */
  async cut_in_a_tool() {
    const asked = { model: "scripted", input: "hello", ...script(...slowCall()), stream: true, background: true };
    const first = await drain(await client.responses.create(asked), 6);
    const id = first[0].response.id;
    const after = first.at(-1).sequence_number;
    const rest = await drain(await client.responses.retrieve(id, { stream: true, starting_after: after }));
    return { first, rest, final: await client.responses.retrieve(id) };
  },
  /** OpenAI's own helper, which adds a response up. */
  async helper() {
    const final = await client.responses.stream({ model: "scripted", input: "x", ...script(...EVERYTHING) }).finalResponse();
    return { final, stored: await client.responses.retrieve(final.id) };
  },
  async background() {
    const queued = await client.responses.create({ ...slow, background: true });
    const cancelled = await client.responses.cancel(queued.id);
    return { queued, cancelled, again: await client.responses.retrieve(queued.id) };
  },
  async client_tool() {
    const first = await client.responses.create({ model: "scripted", input: "where?", tools: [place], ...script(...CALL) });
    const second = await client.responses.create({
      model: "scripted",
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: "c1", output: "Basel" }],
      tools: [place],
      ...script({ text: "Basel, then." }),
    });
    return { first, second };
  },
  async approval() {
    const asked = await client.responses.create({ model: "approval", input: "delete report.txt" });
    const request = asked.output.find(({ type }) => type === "mcp_approval_request");
    const answer = { type: "mcp_approval_response", approval_request_id: request.id, approve: true };
    const done = await client.responses.create({ model: "approval", previous_response_id: asked.id, input: [answer] });
    return { asked, done };
  },
  async conversation() {
    const { id } = await client.conversations.create({});
    const input = [
      {
        role: "user",
        content: [
          { type: "input_text", text: "what is this?" },
          { type: "input_image", image_url: "data:image/png;base64,iVBORw0=", detail: "auto" },
        ],
      },
    ];
    const first = await client.responses.create({ model: "scripted", conversation: id, input, ...script({ text: "A dot." }) });
    const second = await client.responses.create({ model: "scripted", conversation: { id }, input: "sure?", ...script({ text: "Yes." }) });
    const items = await client.responses.inputItems.list(first.id);
    const headers = { Authorization: `Bearer ${key}` };
    const chat = await (await fetch(`${url}/api/chat/scripted/${id}`, { headers })).json();
    const deleted = await client.delete(`/responses/${first.id}`);
    const gone = await failure(client.responses.retrieve(first.id));
    return { id, known: await client.conversations.retrieve(id), first, second, items: items.data, chat, deleted, gone };
  },
  async error() {
    const input = { model: "scripted", input: "x", ...script({ text: "So far." }, { raise: "no" }) };
    const events = await drain(await client.responses.create({ ...input, stream: true }));
    return { refused: await failure(client.responses.create(input)), last: events.at(-1) };
  },
  async chat() {
    const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "hello" }];
    const made = await client.chat.completions.create({ model: "scripted", messages, ...script(...EVERYTHING) });
    const options = { stream: true, stream_options: { include_usage: true } };
    const chunks = await drain(await client.chat.completions.create({ model: "scripted", messages, ...options, ...script(...EVERYTHING) }));
    const tools = [{ type: "function", function: { name: "place", parameters: { type: "object" } } }];
    const calls = await client.chat.completions.create({ model: "scripted", messages, tools, ...script(...CALL) });
    const runner = client.chat.completions.stream({ model: "scripted", messages, tools, ...script(...CALL) });
    const streamed = await runner.finalChatCompletion();
    const after = await client.chat.completions.create({
      model: "scripted",
      messages: [...messages, calls.choices[0].message, { role: "tool", tool_call_id: "c1", content: "Basel" }],
      ...script({ text: "Basel, then." }),
    });
    const failed = { model: "scripted", messages, ...script({ raise: "no" }) };
    const broken = await failure(client.chat.completions.create(failed));
    const midway = await failure(client.chat.completions.create({ ...failed, stream: true }).then(drain));
    return { made, chunks, calls, streamed, after, broken, midway };
  },
  async refusals() {
    const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
    const unknown = "resp_0190b5e0a5d77c0e8f4d3c2b1a090807";
    return {
      model: await failure(client.responses.create({ model: "nobody", input: "x" })),
      chat: await failure(client.chat.completions.create({ model: "nobody", messages: [{ role: "user", content: "x" }] })),
      response: await failure(client.responses.retrieve(unknown)),
      previous: await failure(client.responses.create({ model: "scripted", input: "x", previous_response_id: unknown })),
      nonsense: await failure(client.responses.retrieve("resp_x")),
      key: await failure(stranger.models.list()),
      body: await failure(client.responses.create({ model: "scripted", input: 7 })),
      address: await failure(client.get("/nowhere")),
    };
  },
};

const outcomes = await Promise.all(
  Object.entries(CASES).map(async ([name, play]) => {
    const late = new Promise((_, fail) => setTimeout(() => fail(new Error("took too long")), DEADLINE).unref());
    try {
      return [name, await Promise.race([play(), late])];
    } catch (error) {
      return [name, { broke: `${error.stack} ${JSON.stringify(error.error ?? null)}` }];
    }
  }),
);
process.stdout.write(JSON.stringify(Object.fromEntries(outcomes)), () => process.exit(0));
