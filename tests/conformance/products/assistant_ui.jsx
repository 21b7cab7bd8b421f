// A chat of assistant-ui's own parts, on either of its runtimes, with one tool of the application.
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ExportedMessageRepository,
  MessagePrimitive,
  ThreadPrimitive,
  makeAssistantTool,
} from "@assistant-ui/react";
import {
  fromAgUiMessages,
  useAgUiInterrupts,
  useAgUiRuntime,
  useAgUiSubmitInterruptResponses,
} from "@assistant-ui/react-ag-ui";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { HttpAgent } from "ag-ui-client-0";
import { AssistantUiThreads } from "agui-host-client/assistant-ui";
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const Adder = makeAssistantTool({
  toolName: "add",
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b,
});

/** A call as it stands, and what answers it where it waits for approval. */
const Call = ({ toolName, args, result, approval, respondToApproval }) => (
  <div className="call">
    {`${toolName} ${JSON.stringify(args)} → ${JSON.stringify(result)}`}
    {approval && approval.approved === undefined && (
      <button onClick={() => respondToApproval({ approved: true })}>Approve</button>
    )}
  </div>
);
const parts = { tools: { Fallback: Call } };
const UserMessage = () => (
  <MessagePrimitive.Root className="user">
    <MessagePrimitive.Parts />
  </MessagePrimitive.Root>
);
const AssistantMessage = () => (
  <MessagePrimitive.Root className="assistant">
    <MessagePrimitive.Parts components={parts} />
    <MessagePrimitive.Error>
      <span className="error">It failed.</span>
    </MessagePrimitive.Error>
  </MessagePrimitive.Root>
);

const Thread = ({ children }) => (
  <ThreadPrimitive.Root>
    <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
    {children}
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input aria-label="Message" />
      <ThreadPrimitive.If running={false}>
        <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
      </ThreadPrimitive.If>
      <ThreadPrimitive.If running>
        <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
      </ThreadPrimitive.If>
    </ComposerPrimitive.Root>
  </ThreadPrimitive.Root>
);

function Questions() {
  const submit = useAgUiSubmitInterruptResponses();
  return useAgUiInterrupts().map(({ id, message }) => (
    <div key={id} className="question">
      {message}
      <button onClick={() => submit([{ interruptId: id, status: "resolved", payload: { approved: true } }])}>
        Approve
      </button>
    </div>
  ));
}

/** The team's feed, as `HostClient.feed()` reads it. */
async function* changes(headers) {
  const init = { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: '{"socket": true}' };
  const { ticket } = await (await fetch("/api/v1/tickets", init)).json();
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws/?ticket=${ticket}`);
  await new Promise((resolve) => (socket.onopen = resolve));
  const waiting = [];
  let wake = () => {};
  socket.onmessage = ({ data }) => {
    const { method, params } = JSON.parse(data);
    if (method === "feed") waiting.push(params);
    wake();
  };
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "team.subscribe", params: { window: 1000 } }));
  for (;;) {
    while (waiting.length) yield waiting.shift();
    await new Promise((resolve) => (wake = resolve));
  }
}

const CHATS = {
  threads({ slug, headers, thread: threadId }) {
    const agent = useMemo(() => new HttpAgent({ url: `${location.origin}/agui/agent/${slug}/run`, headers, threadId }), []);
    const threads = useMemo(() => new AssistantUiThreads({ agent, fromAgUiMessages, ExportedMessageRepository }), []);
    const threadList = useSyncExternalStore(threads.subscribe, threads.list);
    const adapters = useMemo(() => ({ history: threads.history, threadList }), [threadList]);
    const runtime = useAgUiRuntime({ agent, adapters });
    useEffect(() => void threads.watch(runtime, changes(headers)), []);
    return (
      <AssistantRuntimeProvider runtime={runtime}>
        {threadList.threads.map(({ id, title }) => (
          <p key={id} className="thread">
            <button onClick={() => runtime.threads.switchToThread(id)}>{title}</button>
            <button onClick={() => runtime.threads.getItemById(id).rename(`${title}!`)}>Rename</button>
            <button onClick={() => runtime.threads.getItemById(id).delete()}>Delete</button>
          </p>
        ))}
        <Thread>
          <Questions />
        </Thread>
      </AssistantRuntimeProvider>
    );
  },
  "AG-UI"({ slug, headers }) {
    const agent = useMemo(() => new HttpAgent({ url: `/agui/agent/${slug}/run`, headers }), []);
    const runtime = useAgUiRuntime({ agent });
    return (
      <AssistantRuntimeProvider runtime={runtime}>
        <Adder />
        <Thread>
          <Questions />
        </Thread>
      </AssistantRuntimeProvider>
    );
  },
  "AI SDK"({ slug, headers }) {
    const transport = useMemo(() => new AssistantChatTransport({ api: `/api/chat/${slug}`, headers }), []);
    const sendAutomaticallyWhen = (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat);
    const runtime = useChatRuntime({ transport, sendAutomaticallyWhen });
    return (
      <AssistantRuntimeProvider runtime={runtime}>
        <Adder />
        <Thread />
      </AssistantRuntimeProvider>
    );
  },
};

window.chat = (runtime, slug, headers, thread) => {
  const Chat = CHATS[runtime];
  createRoot(document.querySelector("main")).render(<Chat {...{ slug, headers, thread }} />);
};
