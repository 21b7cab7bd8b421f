/**
 * One socket to the host, for any number of requests and subscriptions.
 *
 * It opens when it is needed. When it breaks, it comes back: requests without an answer are sent
 * again, and subscriptions continue after the last event that was taken.
 */

import { Backoff } from "./backoff.mjs";
import { AGAIN, Broken, ConnectionLost, Refused, Reset } from "./errors.mjs";
import type { Door, SocketLike } from "./socket.mjs";
import type { Subscription } from "./subscription.mjs";
import type { Members } from "./types.mjs";

interface Call {
  frame: Members;
  then: (result: Members) => void;
  resolve: (result: Members) => void;
  reject: (error: unknown) => void;
}

export class Connection {
  /** The sockets that it took so far. */
  opens = 0;
  readonly #door: Door;
  readonly #timeout: number;
  readonly #silence: number;
  readonly #calls = new Map<number, Call>();
  readonly #subscriptions = new Set<Subscription>();
  readonly #names = new Map<string, Subscription>();
  #socket: SocketLike | null = null;
  #running = false;
  #left = new AbortController();
  #number = 0;

  /** `timeout`: ms without the host before those who wait get ConnectionLost. `silence`: ms without
   * a frame after which the socket counts as broken. */
  constructor(door: Door, timeout: number, silence: number) {
    this.#door = door;
    this.#timeout = timeout;
    this.#silence = silence;
  }

  /** The result of a request that means the same each time it is sent; `then` gets it before any frame behind it. */
  async call(method: string, params: Members, then: (result: Members) => void = () => {}): Promise<Members> {
    return this.tried(() => this.#ask(method, params, then));
  }

  /** The JSON of an answer over HTTP. */
  async fetch(path: string): Promise<any> {
    return this.tried(() => this.#door.ask("GET", path));
  }

  async tried<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const backoff = new Backoff(this.#timeout);
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        await backoff.again(error, this.#left.signal);
        if (this.#left.signal.aborted) throw new ConnectionLost("The client was closed.");
      }
    }
  }

  /** Deliver its frames from its position on, until `leave`. */
  async subscribe(subscription: Subscription): Promise<void> {
    this.#subscriptions.add(subscription);
    await this.call(subscription.method, subscription.params, (result) => {
      const name: string = result["subscription"];
      if (!this.#subscriptions.has(subscription)) return this.#unsubscribe(name);
      this.#names.set(name, subscription);
      subscription.begin(result);
    });
  }

  /** Tell the host that everything up to here was taken. */
  acknowledge({ name }: Subscription, position: Members): void {
    if (name !== null) this.#send({ method: "ack", params: { subscription: name, ...position } });
  }

  /** No more frames of this one. */
  leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    const { name } = subscription;
    if (name !== null && this.#names.delete(name)) this.#unsubscribe(name);
    subscription.name = null;
  }

  /** Leave the host; what runs there continues. */
  close(): void {
    this.#left.abort();
    this.#socket?.close();
    this.#fail(new ConnectionLost("The client was closed."));
  }

  #unsubscribe(subscription: string): void {
    this.#send({ id: `leave ${subscription}`, method: "unsubscribe", params: { subscription } });
  }

  #ask(method: string, params: Members, then: Call["then"]): Promise<Members> {
    if (this.#left.signal.aborted) throw new ConnectionLost("The client was closed.");
    const id = ++this.#number;
    const answer = new Promise<Members>((resolve, reject) => {
      this.#calls.set(id, { frame: { id, method, params }, then, resolve, reject });
    });
    if (this.#socket) this.#send({ id, method, params });
    else void this.#run();
    return answer.finally(() => this.#calls.delete(id));
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const backoff = new Backoff(this.#timeout);
    try {
      while (!this.#left.signal.aborted && (this.#calls.size || this.#subscriptions.size)) {
        const error = await this.#session(backoff).catch((error: unknown) => error);
        this.#socket = null;
        if (!this.#left.signal.aborted) await backoff.again(error, this.#left.signal);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#running = false;
    }
  }

  /** One socket, from its opening to its end, and what that means. */
  async #session(backoff: Backoff): Promise<Error> {
    let heard = Date.now();
    let live = true;
    let over: (error: Error) => void = () => {};
    const ended = new Promise<Error>((resolve) => (over = resolve));
    const take = (text: string) => {
      if (!live) return; // a socket that fell silent may still speak while it closes
      heard = Date.now();
      backoff.succeeded();
      this.#take(JSON.parse(text));
    };
    const socket = await this.#door.open(take, over);
    if (this.#left.signal.aborted) socket.close();
    this.#socket = socket;
    this.opens += 1;
    this.#begin();
    // A browser's socket does not notice that the other side is gone: ask, and give up in time.
    const beat = setInterval(() => {
      if (Date.now() - heard >= this.#silence) {
        over(new Broken("the socket fell silent"));
        socket.close();
      } else if (Date.now() - heard >= this.#silence / 3) {
        this.#send({ id: "ping", method: "ping" });
      }
    }, this.#silence / 6);
    return ended.finally(() => {
      live = false;
      clearInterval(beat);
    });
  }

  #begin(): void {
    this.#names.clear();
    for (const { frame } of this.#calls.values()) this.#send(frame);
    for (const subscription of this.#subscriptions) {
      if (subscription.name === null) continue; // its request is among the calls
      subscription.rewind();
      this.subscribe(subscription).catch((error: unknown) => subscription.fail(error));
    }
  }

  #take({ id, result, error, method, params }: Members): void {
    const call = this.#calls.get(id);
    if (call && error) {
      call.reject(refusal(error));
    } else if (call) {
      call.then(result);
      call.resolve(result);
    } else if (method === "event" || method === "feed") {
      this.#names.get(params.subscription)?.put(params);
    } else if (method === "end") {
      const subscription = this.#names.get(params.subscription);
      this.#names.delete(params.subscription);
      subscription?.end(params);
    }
  }

  #send(frame: Members): void {
    this.#socket?.send(JSON.stringify({ jsonrpc: "2.0", ...frame }));
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#calls.values()) reject(error);
    for (const subscription of this.#subscriptions) subscription.fail(error);
  }
}

function refusal({ code, message, data }: Members): Error {
  if (AGAIN.has(code)) return new Broken(message, data?.retry_after ?? 0);
  if (data?.code === "reset") return new Reset(data.details?.epoch, data.details?.head, code);
  return new Refused(code, data?.code ?? "", message);
}
