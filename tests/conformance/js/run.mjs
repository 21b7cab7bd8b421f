// Plays scenarios with stock HttpAgents, one after the other; what the client made of each.
//
// stdin:  one JSON per line: {"url", "headers"?, "client"?: "@ag-ui/client" | "ag-ui-client-0",
//          "threadId"?, "state"?, "runs": [{"messages"?, "abortAfter"?, …the parameters of runAgent}, …]}
// stdout: one JSON per line: {"runs": [{"types", "arrived", "outcome"?, …}], "messages", "state",
//          "pendingInterrupts", "console", "answers"}, or {"broke"}

import { answerAll } from "./cases.mjs";
import { Recorder, captureConsoles, heard } from "./recorder.mjs";

const nobody = captureConsoles();

async function play(scenario, lines) {
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
  return {
    runs,
    threadId: agent.threadId,
    messages: agent.messages,
    state: agent.state,
    pendingInterrupts: agent.pendingInterrupts ?? [],
    console: [...lines, ...nobody.splice(0)],
    answers,
  };
}

await answerAll((scenario) => {
  const lines = [];
  return heard(lines, () => play(scenario, lines));
});
