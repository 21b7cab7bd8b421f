/** Opens the host's socket, in a browser or in Node; a key is changed into a ticket first. */

import { AGAIN, Broken, Refused } from "./errors.mjs";

/** The part of a WebSocket that is used here. */
export interface SocketLike {
  onopen: ((event: any) => void) | null;
  onmessage: ((event: { data: any }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: any) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

export type SocketClass = new (url: string, protocols: string[]) => SocketLike;

export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string },
) => Promise<{ ok: boolean; status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

const PROTOCOL = "agui.host.v1";
const TOO_SLOW = 4408;
const OPENS_WITHIN = 10_000;

export class Door {
  readonly #host: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: Fetch;
  readonly #socket: SocketClass | undefined;

  constructor(host: string, headers: Record<string, string>, fetch: Fetch, socket?: SocketClass) {
    this.#host = host;
    this.#headers = headers;
    this.#fetch = fetch;
    this.#socket = socket;
  }

  /** The JSON of an answer. Throws Refused, or Broken where another try may help. */
  async ask(method: string, path: string, body?: unknown): Promise<any> {
    const url = new URL(path, this.#host).href;
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { Accept: "application/json", "Content-Type": "application/json", ...this.#headers };
    const answer = await this.#fetch(url, { method, headers, ...sent }).catch((error: unknown) => {
      throw new Broken(String(error));
    });
    const text = await answer.text().catch((error: unknown) => {
      throw new Broken(String(error));
    });
    if (answer.ok) return JSON.parse(text);
    if (AGAIN.has(answer.status)) throw new Broken(`HTTP ${answer.status}`, Number(answer.headers.get("retry-after")) || 0);
    throw refusal(answer.status, text);
  }

  /** A socket that is open; `onClose` gets what its end means. */
  async open(onText: (text: string) => void, onClose: (error: Error) => void): Promise<SocketLike> {
    const Socket = this.#socket ?? (globalThis.WebSocket as SocketClass | undefined) ?? (await import("#websocket")).WebSocket;
    const socket = new Socket(await this.#address(), [PROTOCOL]);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => socket.close(), OPENS_WITHIN);
      socket.onerror = () => {};
      socket.onopen = () => {
        clearTimeout(late);
        resolve(socket);
      };
      socket.onmessage = ({ data }) => onText(data as string);
      socket.onclose = ({ code, reason }) => {
        clearTimeout(late);
        const error = closing(code, reason);
        reject(error);
        onClose(error);
      };
    });
  }

  async #address(): Promise<string> {
    // A browser's WebSocket sends no header: with one, a ticket opens it; without, the session cookie.
    const named = Object.keys(this.#headers).some((name) => name.toLowerCase() === "authorization");
    const path = named ? (await this.ask("POST", "/api/v1/tickets", { socket: true })).websocket_url : "/ws/";
    return new URL(path, this.#host).href.replace(/^http/, "ws");
  }
}

function closing(code: number, reason: string): Error {
  const final = code >= 4400 && code < 4412 && code !== TOO_SLOW;
  return final ? new Refused(code, reason, "the host closed the socket") : new Broken(`closed with ${code}`);
}

function refusal(status: number, text: string): Refused {
  try {
    const { code, message } = JSON.parse(text).error;
    return new Refused(status, String(code), String(message));
  } catch {
    return new Refused(status, "", text.slice(0, 200));
  }
}
