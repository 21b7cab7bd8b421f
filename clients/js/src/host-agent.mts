/**
 * HostAgent: the stock `HttpAgent` of `@ag-ui/client`, with what this host can do beyond it.
 *
 * A run continues at the host without readers, so a broken connection is not a failed run: HostAgent
 * comes back with the number of the last event it delivered and continues there, and no event is
 * delivered twice. See docs/howto-javascript.md.
 */

import { HttpAgent } from "@ag-ui/client";

import { cursorOf, follow, isEvent, numberOf, resetOf, split, type Reading } from "./host-frames.mjs";

const RUN_ID = /\/runs\/([0-9a-f-]{36})\b/;
const RESUME: Resume = { attempts: 10, delay: 250, longest: 10_000, silence: 45_000 };

export interface Resume {
  /** Attempts in a row before giving up; 0: never resume. */
  attempts: number;
  /** ms before the second attempt, doubled up to `longest`. */
  delay: number;
  longest: number;
  /** ms without a byte after which a connection counts as broken. */
  silence: number;
}

type Config = ConstructorParameters<typeof HttpAgent>[0];
type Input = Parameters<HttpAgent["run"]>[0];
type Wire = NonNullable<Config["fetch"]>;

interface Equipment {
  wire: Wire;
  connectUrl: string;
  api: string;
  resume: Resume;
}

/** A run as the host's API shows it. */
export interface HostRun {
  id: string;
  status: string;
  [member: string]: any;
}

export interface HostAgentConfig extends Config {
  /** Where `connectAgent()` asks; by default found from `url`, as is `api`. */
  connectUrl?: string;
  api?: string;
  resume?: Partial<Resume>;
}

export class HostAgent extends HttpAgent {
  declare wire: Wire;
  declare connectUrl: string;
  declare api: string;
  declare resume: Resume;
  declare reading: Reading | null;

  /** The configuration of an HttpAgent, and the options of this host. */
  constructor({ connectUrl, api, resume, fetch: wire, ...config }: HostAgentConfig) {
    super(config);
    const origin = () => new URL(this.url, globalThis.document?.baseURI).origin;
    this.equip({
      wire: wire ?? ((url, init) => fetch(url, init)),
      connectUrl: connectUrl ?? connectAddress(this.url),
      api: api ?? `${origin()}/api/v1`,
      resume: { ...RESUME, ...resume },
    });
  }

  private equip({ wire, connectUrl, api, resume }: Equipment): this {
    Object.assign(this, { wire, connectUrl, api, resume, reading: null });
    this.fetch = (url, init) => this.open(url, init);
    return this;
  }

  override clone(): HostAgent {
    return (super.clone() as HostAgent).equip(this);
  }

  /** The events of the thread so far, as snapshots, then of the live run; for `connectAgent()`. */
  protected override connect(input: Input): ReturnType<HttpAgent["run"]> {
    if (this.abortController.signal.aborted) this.abortController = new AbortController();
    return super.run.call(Object.create(this, { url: { value: this.connectUrl } }), input);
  }

  override async connectAgent(
    ...[parameters, subscriber]: Parameters<HttpAgent["connectAgent"]>
  ): ReturnType<HttpAgent["connectAgent"]> {
    // The client wants open questions answered before any run. This starts none, and the thread's
    // last ending brings those back that are still open.
    const questions = this.pendingInterrupts;
    this.pendingInterrupts = [];
    try {
      return await super.connectAgent(parameters, subscriber);
    } catch (error) {
      this.pendingInterrupts = questions;
      throw error;
    }
  }

  /**
   * Stop the run that is being read, else the active run of the thread. Its stream ends
   * with the outcome `cancelled`. The run as the API shows it, or null if there is none.
   */
  async cancel(): Promise<HostRun | null> {
    const id = await this.currentRun();
    return id ? this.ask(`/runs/${id}/cancel`, { method: "POST", body: "{}" }) : null;
  }

  /** The host's own id of the run that `cancel()` would stop, or null. */
  async currentRun(): Promise<string | null> {
    const { id, runId } = this.reading ?? {};
    if (id) return id;
    const which = runId ? { run_id: runId } : { status: "running" };
    const query = new URLSearchParams({ thread_id: this.threadId, limit: "1", ...which });
    return (await this.ask(`/runs?${query}`)).results[0]?.id ?? null;
  }

  private async ask(path: string, init: RequestInit = {}): Promise<any> {
    const json = "application/json";
    const headers = { ...this.headers, Accept: json, "Content-Type": json };
    const answer = await this.wire(this.api + path, { ...init, headers });
    if (!answer.ok) throw await refusal(answer);
    return answer.json();
  }

  /** The client's answer to its request: one answer, over as many connections as it takes. */
  private async open(url: string, init: RequestInit): Promise<Response> {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, ...(init.signal ? [init.signal] : [])]);
    const answer = await this.wire(url, { ...init, signal });
    if (!answer.ok) return answer;
    const type = answer.headers.get("content-type") ?? "without a type";
    if (!type.startsWith("text/event-stream")) throw new Error(`${url} answers no stream: ${type}`);
    const frames = this.frames(url, { ...init, signal }, answer);
    const coder = new TextEncoder();
    // Not a ReadableStream: the client cancels its reader behind an error too, which a failed
    // stream refuses, and that rejection is not handled.
    const reader = {
      async read() {
        const { done, value } = await frames.next();
        return { done, value: done ? undefined : coder.encode(`${value}\n\n`) };
      },
      cancel: async () => left.abort(),
    };
    const { status, headers } = answer;
    const body = { value: { getReader: () => reader } };
    return Object.defineProperty(new Response(null, { status, headers }), "body", body);
  }

  /** The frames to deliver, up to the end of the run; a stream that stops before it is an error. */
  private async *frames(url: string, init: Init, first: Response): AsyncGenerator<string, void> {
    const reading: Reading = (this.reading = { id: idOf(first), seen: 0, cursor: "0", ended: false });
    let answer: Response | null | void = first;
    let failures = 0;
    try {
      for (;;) {
        // A prelude counts as a whole: only its last frame has a number. Half of one was nothing.
        let held: string[] = [];
        let broken: unknown;
        try {
          for await (const frame of split(answer.body!, this.resume.silence, init.signal)) {
            if (!isEvent(frame)) continue;
            const reset = resetOf(frame);
            if (reset) throw wentBack(reset);
            held.push(frame);
            const id = numberOf(frame);
            if (!id) continue;
            if (id > reading.seen || (reading.ended && id === 1)) {
              held.forEach((each) => follow(reading, each));
              reading.seen = id;
              reading.cursor = cursorOf(frame);
              failures = 0;
              yield* held;
            }
            held = [];
          }
        } catch (error) {
          if ((error as Failure).status) throw error;
          broken = error;
        }
        // A thread without runs is an empty stream that belongs to no run.
        const nothing = !broken && !reading.seen && !held.length && !idOf(answer);
        if (reading.ended || nothing) return;
        for (answer = null; !answer; ) {
          await this.wait(failures++, init.signal, broken);
          answer = await this.again(url, init, reading).catch((error) => {
            if (error.status < 500 && ![408, 429].includes(error.status)) throw error;
            broken = error;
          });
        }
      }
    } finally {
      if (this.reading === reading) this.reading = null;
    }
  }

  /** The request that continues from here: the same one, as long as nothing was delivered. */
  private async again(url: string, init: Init, reading: Reading): Promise<Response> {
    if (reading.seen) {
      reading.id ??= await this.currentRun();
      url = `${this.api}/runs/${reading.id}/events`;
      const headers = { ...this.headers, Accept: "text/event-stream", "Last-Event-ID": reading.cursor };
      init = { ...init, method: "GET", body: null, headers };
    }
    const answer = await this.wire(url, init);
    if (answer.status !== 200) throw await refusal(answer, reading.seen > 0);
    reading.id ??= idOf(answer);
    return answer;
  }

  private async wait(failures: number, signal: AbortSignal, cause: unknown): Promise<void> {
    const { attempts, delay, longest } = this.resume;
    signal.throwIfAborted();
    if (failures >= attempts) throw new Error("The stream ended before the run did.", { cause });
    const most = failures && Math.min(delay * 2 ** (failures - 1), longest);
    await new Promise<void>((resolve) => {
      setTimeout(resolve, most * (0.5 + Math.random() / 2));
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    signal.throwIfAborted();
  }
}

type Init = RequestInit & { signal: AbortSignal };

const idOf = (answer: Response): string | null =>
  answer.headers.get("content-location")?.match(RUN_ID)?.[1] ?? null;

function connectAddress(url: string): string {
  const base = url.replace(/\/+$/, "");
  if (/\/agent\/[^/]+\/run$/.test(base)) return base.replace(/run$/, "connect");
  return `${base.replace(/^(\w+:\/\/[^/]+)?$/, "$&/agui")}/agent/default/connect`;
}

/** An error for good. If the host's history went back, its code is `reset`, and it has `epoch` and `head`. */
interface Failure extends Error {
  status: number;
  code?: string;
  epoch?: number | undefined;
  head?: number | undefined;
}

/** The error that HttpAgent would raise for this answer; a cursor that `isFromHost` is only refused if it was lost. */
async function refusal(answer: Response, isFromHost = false): Promise<Failure> {
  const { status } = answer;
  const text = await answer.text();
  if (status === 410 && text.includes('"reset"')) return wentBack(JSON.parse(text).error.details);
  if (isFromHost && status === 400 && text.includes('"bad_cursor"')) return wentBack(JSON.parse(text).error.details);
  return Object.assign(new Error(`HTTP ${status}: ${text}`), { status });
}

/** The history of the host's database went back: `connectAgent()` starts again from what there is. */
function wentBack({ epoch, head }: { epoch?: number; head?: number }): Failure {
  const error = new Error("The history of the host's database went back: connect again.");
  return Object.assign(error, { status: 410, code: "reset", epoch, head });
}
