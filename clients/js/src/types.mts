/** What the host sends. */

/** An AG-UI 1.0 event as it was stored. */
export interface AgUiEvent {
  type: string;
  [member: string]: any;
}

export type RunStatus = "queued" | "running" | "succeeded" | "interrupted" | "cancelled" | "failed";

/** A run as `GET /api/v1/runs/{id}` shows it: `id` is the host's, `run_id` and `thread_id` are the client's names. */
export interface Run {
  id: string;
  run_id: string;
  thread_id: string;
  agent: string;
  status: RunStatus;
  events: number;
  error: { code: string; message: string } | null;
  result: unknown;
  /** The run that the host has started in place of this one, which lost its worker. */
  repeated_by: string | null;
  [member: string]: unknown;
}

/** A question that a run ended with, as `GET /api/v1/interrupts/{id}` shows it. */
export interface Interrupt {
  id: string;
  interrupt_id: string;
  run: string;
  thread_id: string;
  status: string;
  reason: string;
  message: string | null;
  payload: unknown;
  [member: string]: unknown;
}

/** A place in a log or in the feed. Give it back as it came: it is no number to count or compare. */
export type Cursor = number | string;

/** One event of a run, and its place: the `seq` counts from 1 without gaps. */
export interface EventFrame {
  run: string;
  seq: number;
  /** Where to continue, if that is not the `seq`. */
  cursor?: Cursor;
  event: AgUiEvent;
}

/** One entry of the team's feed. */
export interface FeedEntry {
  cursor: Cursor;
  type: string;
  status: string;
  at: string;
  run: string;
  run_id: string;
  thread_id: string;
  agent: string;
  interrupt?: string;
}

/** Members of a JSON object. */
export type Members = Record<string, any>;
