// Plays one scenario with a stock HttpAgent and prints what the client made of it, as one JSON.
//
// stdin:  {"url", "headers"?, "client"?: "@ag-ui/client" | "ag-ui-client-0", "threadId"?, "state"?,
//          "runs": [{"messages"?, "abortAfter"?, …the parameters of runAgent}, …]}
// stdout: {"runs": [{"types", "arrived", "outcome"?, …}], "messages", "state",
//          "pendingInterrupts", "console", "answers"}

import { text } from "node:stream/consumers";

import { Recorder, captureConsole } from "./recorder.mjs";

const scenario = JSON.parse(await text(process.stdin));
const lines = captureConsole();
const { HttpAgent } = await import(scenario.client ?? "@ag-ui/client");

const answers = [];
const agent = new HttpAgent({
  url: scenario.url,
  headers: scenario.headers,
  threadId: scenario.threadId,
  initialState: scenario.state,
  fetch: async (url, init) => {
    const answer = await fetch(url, init);
    answers.push({ status: answer.status, redirected: answer.redirected });
    return answer;
  },
});

const runs = [];
for (const { messages = [], abortAfter, ...parameters } of scenario.runs) {
  agent.addMessages(messages);
  const recorder = new Recorder(() => abortAfter && agent.abortRun(), abortAfter);
  runs.push(await recorder.run(agent, parameters));
}

// Written by hand, since the console is captured; exit, since aborted sockets may linger.
const said = JSON.stringify({
  runs,
  threadId: agent.threadId,
  messages: agent.messages,
  state: agent.state,
  pendingInterrupts: agent.pendingInterrupts ?? [],
  console: lines,
  answers,
});
process.stdout.write(said, () => process.exit(0));
