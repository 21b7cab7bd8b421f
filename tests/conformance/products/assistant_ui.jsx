// A chat of assistant-ui's own parts, on either of its runtimes, with one tool of the application.
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  makeAssistantTool,
} from "@assistant-ui/react";
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from "@assistant-ui/react-ag-ui";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { HttpAgent } from "ag-ui-client-0";
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useMemo } from "react";
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

const CHATS = {
  "AG-UI"({ slug, headers }) {
    const agent = useMemo(() => new HttpAgent({ url: `/agui/agent/${slug}/run?on_busy=cancel_running`, headers }), []);
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

window.chat = (runtime, slug, headers) => {
  const Chat = CHATS[runtime];
  createRoot(document.querySelector("main")).render(<Chat {...{ slug, headers }} />);
};
