/** Drives the runs of an AG-UI run host; `agui-host-client/agent` has HostAgent for CopilotKit. */

export { citationsOf, withReview } from "./citations.mjs";
export type { Citations } from "./citations.mjs";
export { ConnectionLost, HostError, Refused, Reset } from "./errors.mjs";
export { HostClient } from "./host-client.mjs";
export type { Answered, Follow, HostClientOptions, Position, Start, Target } from "./host-client.mjs";
export type { AgUiEvent, Cursor, EventFrame, FeedEntry, Interrupt, Run, RunStatus } from "./types.mjs";
export type { Fetch, SocketClass, SocketLike } from "./socket.mjs";
