// Visits of a front end, one after the other: each a @copilotkit/core of its own with nothing but a
// runtimeUrl and headers.
//
// stdin:  one JSON per line: {"runtimeUrl", "headers", "agent", "threadId", "tool"?, "steps": [
//           {"connect": true} | {"threads": true}
//           | {"say": {"id", "content"}, "forwardedProps"?, "resume"?, "stopAfter"?, "resolve"?, "sameRun"?}]}
// stdout: one JSON per line: {"agents", "endpoints", "steps": [{"types", "ids"?}], "messages", "state",
//          "pendingInterrupts", "errors", "console"}, or {"broke"}; "stopAfter" counts the deltas
//          before a stop, "tool" names a tool of the application

import { answerAll } from "./cases.mjs";
import { captureConsoles, heard } from "./recorder.mjs";

const nobody = captureConsoles();

async function visit(scenario, lines) {
  const { runtimeUrl, headers } = scenario;
  // Without a window the client takes itself for a server that renders, and connects to nothing.
  globalThis.window = { location: new URL(runtimeUrl) };
  const { CopilotKitCore } = await import("@copilotkit/core");
  const errors = [];
  const core = new CopilotKitCore({ runtimeUrl, headers });
  const found = new Promise((resolve) => {
    core.subscribe({
      onError: ({ error, code }) => void errors.push({ code, message: error.message }),
      onRuntimeConnectionStatusChanged: ({ status }) =>
        void (["connected", "error"].includes(status) && resolve()),
    });
  });
  await found;
  if (scenario.tool) {
    core.addTool({
      name: scenario.tool,
      followUp: false,
      parameters: anything(),
      handler: async (args) => ({ picked: args }),
    });
  }
  const agent = core.getAgent(scenario.agent);
  agent.threadId = scenario.threadId;
  const steps = [];
  for (const step of scenario.steps) {
    steps.push(step.threads ? { ids: await threads(scenario) } : await take(core, agent, step));
  }
  return {
    agents: Object.fromEntries(
      Object.entries(core.agents).map(([id, { description, capabilities }]) => [
        id,
        { description, capabilities },
      ]),
    ),
    endpoints: core.threadEndpoints ?? null,
    steps,
    messages: agent.messages,
    state: agent.state,
    pendingInterrupts: agent.pendingInterrupts,
    errors,
    console: [...lines, ...nobody.splice(0)],
  };
}

async function take(core, agent, step) {
  const types = [];
  let deltas = 0;
  const subscription = agent.subscribe({
    onRunFinalized: ({ input }) => void (agent.latestRunId = input.runId),
    onEvent: ({ event }) => {
      types.push(event.type);
      if (event.type === "TEXT_MESSAGE_CONTENT" && ++deltas === step.stopAfter) {
        core.stopAgent({ agent });
      }
    },
  });
  if (step.connect) {
    await core.connectAgent({ agent });
  } else {
    // As CopilotKit's `reloadMessages` does it: cut behind the user's message, and run.
    if (step.keep) agent.setMessages(agent.messages.slice(0, step.keep));
    if (step.say) agent.addMessage({ role: "user", ...step.say });
    // As its hook `useInterrupt` resolves a question: by the run that asked.
    const again = step.sameRun ? { runId: agent.latestRunId } : {};
    const resume = step.resolve ? agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, ...step.resolve })) : step.resume;
    await core.runAgent({ agent, ...again, forwardedProps: step.forwardedProps, resume });
  }
  subscription.unsubscribe();
  return { types };
}

/** A Standard Schema that takes any object. */
function anything() {
  const input = () => ({ type: "object", properties: {} });
  const validate = (value) => ({ value });
  return { "~standard": { version: 1, vendor: "tests", validate, jsonSchema: { input } } };
}

/** The list as a front end's drawer shows it, two to a page. */
async function threads({ runtimeUrl, headers, agent }) {
  const { ɵcreateThreadStore: createThreadStore } = await import("@copilotkit/core");
  const store = createThreadStore({ fetch });
  store.start();
  store.setContext({ runtimeUrl, headers, agentId: agent, limit: 2 });
  const settled = async (flag) => {
    while (store.getState()[flag]) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await settled("isLoading");
  while (store.getState().nextCursor) {
    store.fetchNextPage();
    await settled("isFetchingNextPage");
  }
  const { threads, error, fetchMoreError } = store.getState();
  store.stop();
  if (error ?? fetchMoreError) throw error ?? fetchMoreError;
  return threads.map(({ id }) => id);
}

await answerAll((scenario) => {
  const lines = [];
  return heard(lines, () => visit(scenario, lines));
});
