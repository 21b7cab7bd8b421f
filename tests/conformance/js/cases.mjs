// What the judges share: cases that are played side by side by one process or one after the other,
// and lost connections.

import { createInterface } from "node:readline";

export const DEADLINE = 90_000;

export const plain = (value) => JSON.parse(JSON.stringify(value));
export const emit = (type, members) => ({ emit: { type, ...members } });

/** A call of the client's tool `name`, as an agent's script. */
export const call = (id, name, input = "{}") => [
  emit("TOOL_CALL_START", { toolCallId: id, toolCallName: name }),
  emit("TOOL_CALL_ARGS", { toolCallId: id, delta: input }),
  emit("TOOL_CALL_END", { toolCallId: id }),
];

/** A call of a tool of the agent, in twenty pieces, with so many seconds after each. */
export const slowCall = (seconds = 0.02, id = "c") => [
  emit("TOOL_CALL_START", { toolCallId: id, toolCallName: "look" }),
  ...Array.from({ length: 20 }, () => [
    emit("TOOL_CALL_ARGS", { toolCallId: id, delta: " " }),
    { sleep: seconds },
  ]).flat(),
  emit("TOOL_CALL_ARGS", { toolCallId: id, delta: "{}" }),
  emit("TOOL_CALL_END", { toolCallId: id }),
  emit("TOOL_CALL_RESULT", { messageId: `${id}-result`, toolCallId: id, content: "ok" }),
];

/** Three texts, of which the second is held in its middle until there is that file. */
export const heldText = (gate) => [
  { text: "One." },
  emit("TEXT_MESSAGE_START", { messageId: "held", role: "assistant" }),
  emit("TEXT_MESSAGE_CONTENT", { messageId: "held", delta: "Two" }),
  { until: gate },
  emit("TEXT_MESSAGE_CONTENT", { messageId: "held", delta: " and more" }),
  emit("TEXT_MESSAGE_END", { messageId: "held" }),
  { text: "Three." },
];

/** A call of a tool of the agent, held in its arguments until there is that file. */
export const heldCall = (gate, id = "c") => [
  emit("TOOL_CALL_START", { toolCallId: id, toolCallName: "look" }),
  ...Array.from({ length: 5 }, () => emit("TOOL_CALL_ARGS", { toolCallId: id, delta: " " })),
  { until: gate },
  emit("TOOL_CALL_ARGS", { toolCallId: id, delta: "{}" }),
  emit("TOOL_CALL_END", { toolCallId: id }),
  emit("TOOL_CALL_RESULT", { messageId: `${id}-result`, toolCallId: id, content: "ok" }),
];

/** What an AI SDK's chat keeps; each framework of user interfaces has its own. */
export class ChatState {
  status = "ready";
  error = undefined;
  constructor(messages = []) {
    this.messages = messages;
  }
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => (this.messages = this.messages.with(index, message));
  snapshot = (value) => structuredClone(value);
}

export async function until(condition) {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never: ${condition}`);
    await new Promise((soon) => setTimeout(soon, 20));
  }
}

/** An answer whose connection is lost right behind the `times`-th `marker`. */
export function cutAfter(answer, marker, times) {
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let seen = "";
  let lost = false;
  const body = new ReadableStream({
    async pull(controller) {
      if (lost) {
        // An error throws away what a client has received and not yet looked at.
        await new Promise((soon) => setTimeout(soon, 200));
        return controller.error(new TypeError("network lost"));
      }
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const sent = seen.length;
      seen += decoder.decode(value, { stream: true });
      let end = -1;
      for (let found = 0; found < times && (end = seen.indexOf(marker, end + 1)) >= 0; ) found += 1;
      if (end < 0) return controller.enqueue(value);
      controller.enqueue(new TextEncoder().encode(seen.slice(sent, end + marker.length)));
      reader.cancel().catch(() => {});
      lost = true;
    },
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

/** Answer each line of stdin with a line, both JSON; a question that fails has `broke`. */
export async function answerAll(answer) {
  for await (const line of createInterface({ input: process.stdin })) {
    const said = await answer(JSON.parse(line)).catch((error) => ({ broke: error.stack }));
    process.stdout.write(`${JSON.stringify(said)}\n`);
  }
  // Timers and aborted sockets may linger.
  process.exit(0);
}

/** Play all cases at once and print {case: what came of it}; one that fails has `broke`. */
export async function playAll(cases) {
  const outcomes = await Promise.all(
    Object.entries(cases).map(async ([name, play]) => {
      const late = new Promise((_, fail) => setTimeout(() => fail(new Error("took too long")), DEADLINE));
      try {
        return [name, await Promise.race([play(), late])];
      } catch (error) {
        return [name, { broke: error.stack }];
      }
    }),
  );
  process.stdout.write(JSON.stringify(Object.fromEntries(outcomes)), () => process.exit(0));
}
