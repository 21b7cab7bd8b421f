/**
 * Threads of the host in assistant-ui's runtime for AG-UI: its list of threads, their messages, and
 * the run that is going. See docs/howto-javascript.md.
 *
 * The host keeps the messages, so nothing is stored here: a thread is read over the agent's
 * `/connect`, as snapshots and then as the live run.
 */

/** What is needed of `@assistant-ui/react-ag-ui` and `@assistant-ui/react`. */
export interface AssistantUi {
  fromAgUiMessages(messages: readonly any[]): any[];
  ExportedMessageRepository: { fromArray(messages: readonly any[]): any };
}

/** An HttpAgent of `@ag-ui/client`, of any version, or a HostAgent. */
export interface Agent {
  url: string;
  threadId: string;
  headers: Record<string, string>;
  clone(): any;
}

export interface ThreadsOptions extends AssistantUi {
  agent: Agent;
  /** The host's API; by default `/api/v1` where the agent is. */
  api?: string;
  fetch?: typeof fetch;
}

interface Row {
  id: string;
  thread_id: string;
  title: string;
  archived: boolean;
}

/** One entry of a `HostClient`'s feed, as far as it is read here. */
interface Change {
  type: string;
  run_id: string;
  thread_id: string;
}

/** The parts of assistant-ui's runtime by which an open page learns of others' turns. */
interface Runtime {
  thread: {
    getState(): { isRunning: boolean; messages: readonly { id: string }[] };
    import(repository: any): void;
    resumeRun(config: { parentId: string | null; stream: () => AsyncGenerator<any, void, unknown> }): void;
  };
}

const ENDED = /^run\.(succeeded|failed|cancelled|interrupted)$/;

/** The adapters of `useAgUiRuntime({ agent, adapters: { history, threadList } })`, and `watch`. */
export class AssistantUiThreads {
  /** `history` of the adapters: the messages of the agent's thread, and the run that is going. */
  readonly history = {
    load: () => this.#load(),
    resume: () => this.#resume(),
    append: async () => {}, // The host has it with the run that brings it.
  };

  #options: ThreadsOptions;
  #reading: Reading | null = null;
  #rows: Row[] = [];
  #list: any;
  #listeners = new Set<() => void>();

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.#publish(true);
  }

  /** For `useSyncExternalStore(threads.subscribe, threads.list)`. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) void this.refresh();
    return () => this.#listeners.delete(listener);
  };

  /** `threadList` of the adapters; the same object until something in it changes. */
  list = (): any => this.#list;

  /** Read the list of the agent's threads again, newest activity first. */
  async refresh(): Promise<void> {
    const agent = this.#agent.url.match(/\/agent\/([^/?]+)\/run/)?.[1];
    const query = new URLSearchParams({ limit: "100", ...(agent && { agent }) });
    this.#rows = (await this.#ask(`/threads?${query}`)).results;
    this.#publish();
  }

  /**
   * Show what others do in the open thread, for as long as `changes` go on: the feed of a
   * `HostClient`. Runs that the page itself reads change nothing.
   */
  async watch(runtime: Runtime, changes: AsyncIterable<Change>): Promise<void> {
    for await (const { type, thread_id } of changes) {
      if (type === "run.created" || ENDED.test(type)) await this.refresh();
      if (thread_id !== this.#agent.threadId || runtime.thread.getState().isRunning) continue;
      if (type !== "run.started" && !ENDED.test(type)) continue;
      const { unstable_resume: isLive, ...repository } = await this.#load();
      if (thread_id !== this.#agent.threadId || runtime.thread.getState().isRunning) continue;
      runtime.thread.import(repository);
      const parentId = repository.messages.at(-1)?.message.id ?? null;
      if (isLive) runtime.thread.resumeRun({ parentId, stream: () => this.#resume() });
    }
  }

  get #agent(): Agent {
    return this.#options.agent;
  }

  async #load(): Promise<any> {
    const { messages, state, isLive } = await this.#thread();
    const repository = this.#options.ExportedMessageRepository.fromArray(messages);
    return { ...repository, state, unstable_resume: isLive };
  }

  /** The messages of the agent's thread; of a live run those that it answers. */
  async #thread(): Promise<{ messages: any[]; state: any; isLive: boolean }> {
    this.#reading?.leave();
    const query = new URLSearchParams({ thread_id: this.#agent.threadId, limit: "1" });
    const [run] = (await this.#ask(`/runs?${query}`)).results;
    if (!run) return { messages: [], state: undefined, isLive: false };
    const reading = (this.#reading = new Reading(this.#options));
    await (["queued", "running"].includes(run.status) ? reading.begun : reading.done);
    if (reading.error) throw reading.error;
    const { before, after } = reading.split();
    const isLive = !reading.hasEnded;
    const messages = isLive ? before : [...before, ...after];
    return { messages, state: reading.state, isLive };
  }

  /** The answer of the live run, longer each time. */
  async *#resume(): AsyncGenerator<any, void, unknown> {
    const reading = this.#reading;
    if (!reading) return;
    for (;;) {
      const { hasEnded, next } = reading;
      const { after } = reading.split();
      const content = after.flatMap(({ content }) =>
        typeof content !== "string" ? content : content ? [{ type: "text", text: content }] : [],
      );
      const { status, metadata } = after.at(-1) ?? {};
      yield { content, ...(hasEnded && status && { status, metadata }) };
      if (hasEnded) break;
      await next;
    }
    if (reading.error) throw reading.error;
  }

  #publish(isLoading = false): void {
    const of = (archived: boolean) => this.#rows.filter((row) => row.archived === archived);
    const shown = (status: string) => (row: Row) => ({ id: row.thread_id, title: row.title, status });
    const change = (values: Record<string, unknown>) => (name: string, title?: string) =>
      this.#change(name, "PATCH", title === undefined ? values : { title });
    this.#list = {
      threadId: this.#agent.threadId,
      isLoading,
      threads: of(false).map(shown("regular")),
      archivedThreads: of(true).map(shown("archived")),
      onSwitchToNewThread: () => this.#switch(crypto.randomUUID()),
      onSwitchToThread: async (name: string) => {
        this.#switch(name);
        const { messages, state, isLive } = await this.#thread();
        const { fromArray } = this.#options.ExportedMessageRepository;
        const whole = fromArray(messages).messages.map(({ message }: any) => message);
        return { messages: whole, ...(state !== undefined && { state }), unstable_resume: isLive };
      },
      onRename: change({}),
      onArchive: change({ archived: true }),
      onUnarchive: change({ archived: false }),
      onDelete: (name: string) => this.#change(name, "DELETE"),
    };
    this.#listeners.forEach((listener) => listener());
  }

  #switch(name: string): void {
    this.#reading?.leave();
    this.#agent.threadId = name;
    this.#publish();
  }

  async #change(name: string, method: string, values?: Record<string, unknown>): Promise<void> {
    const row = this.#rows.find((each) => each.thread_id === name);
    if (!row) return;
    await this.#ask(`/threads/${row.id}`, { method, ...(values && { body: JSON.stringify(values) }) });
    await this.refresh();
  }

  async #ask(path: string, init: RequestInit = {}): Promise<any> {
    const { api, fetch: wire = (url, more) => fetch(url, more) } = this.#options;
    const root = api ?? `${new URL(this.#agent.url, globalThis.document?.baseURI).origin}/api/v1`;
    const headers = { ...this.#agent.headers, Accept: "application/json", "Content-Type": "application/json" };
    const answer = await wire(root + path, { ...init, headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${text}`);
    return text && JSON.parse(text);
  }
}

/** One reading of a thread: the messages so far, and whether the run that is read has ended. */
class Reading {
  state: any;
  error: unknown;
  hasEnded = false;
  /** Settles with the first snapshot, the next change, and the end. */
  begun: Promise<void>;
  next!: Promise<void>;
  done: Promise<void>;

  #agent: any;
  #convert: AssistantUi["fromAgUiMessages"];
  #messages: any[] = [];
  #interrupts: any[] = [];
  #tell!: () => void;

  constructor({ agent, fromAgUiMessages }: ThreadsOptions) {
    this.#convert = fromAgUiMessages;
    this.#agent = agent.clone();
    const url = agent.url.replace(/\/run(?=\/?(\?|$))/, "/connect");
    const { threadId } = agent;
    Object.assign(this.#agent, { url, threadId, messages: [], state: {}, pendingInterrupts: [] });
    this.#renew();
    this.begun = this.next;
    this.done = this.#read();
  }

  leave(): void {
    this.#agent.abortRun();
  }

  /** The messages up to the user's last one, and the answer to it. */
  split(): { before: any[]; after: any[] } {
    const converted = this.#convert(this.#messages);
    const at = converted.findLastIndex(({ role }) => role === "user") + 1;
    const before = converted.slice(0, at);
    const after = converted.slice(at);
    const interrupts = this.#interrupts;
    if (interrupts.length) {
      const last = after.pop() ?? { id: interrupts[0].id, role: "assistant", content: [] };
      const custom = { ...last.metadata?.custom, agui: { interrupts } };
      const status = { type: "requires-action", reason: "interrupt" };
      after.push({ ...last, status, metadata: { ...last.metadata, custom } });
    }
    return { before, after };
  }

  async #read(): Promise<void> {
    try {
      await this.#agent.runAgent({}, {
        onMessagesChanged: ({ messages }: any) => this.#took(messages),
        onStateChanged: ({ state }: any) => void (this.state = state),
        onRunFinishedEvent: ({ event, outcome, interrupts }: any) => {
          const known = event?.outcome?.interrupts ?? interrupts ?? outcome?.interrupts;
          this.#interrupts = Array.isArray(known) ? known : [];
        },
      });
    } catch (error) {
      if ((error as Error).name !== "AbortError") this.error = error;
    }
    this.hasEnded = true;
    this.#took(this.#agent.messages);
  }

  #took(messages: readonly any[]): void {
    this.#messages = [...messages];
    const tell = this.#tell;
    this.#renew();
    tell();
  }

  #renew(): void {
    this.next = new Promise((resolve) => (this.#tell = resolve));
  }
}
