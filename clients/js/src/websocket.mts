/** A WebSocket for Node 20, which has none without a flag: text frames, as much as HostClient needs. */

import { createHash, randomBytes } from "node:crypto";
import { request as overHttp, type IncomingMessage } from "node:http";
import { request as overHttps } from "node:https";
import type { Duplex } from "node:stream";

import type { SocketLike } from "./socket.mjs";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const LARGEST = 32 * 1024 * 1024;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const LOST = 1006;

export class WebSocket implements SocketLike {
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  #stream: Duplex | null = null;
  #rest: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #arrived = 0;
  #needed = 2;
  #parts: Buffer[] = [];
  #size = 0;
  #closed = false;

  constructor(url: string, protocols: string[]) {
    const key = randomBytes(16).toString("base64");
    const connect = url.startsWith("wss:") ? overHttps : overHttp;
    const request = connect(url.replace(/^ws/, "http"), {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": protocols.join(", "),
      },
    });
    request.on("error", () => this.#end(LOST));
    request.on("response", (answer) => {
      answer.destroy();
      this.#end(LOST);
    });
    request.on("upgrade", (answer, stream, head) => this.#open(key, answer, stream, head));
    request.end();
    this.#abort = () => request.destroy();
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  close(code = 1000): void {
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.#write(CLOSE, body);
    this.#abort();
    this.#end(code);
  }

  #abort: () => void;

  #open(key: string, answer: IncomingMessage, stream: Duplex, head: Buffer): void {
    const accept = createHash("sha1").update(key + GUID).digest("base64");
    if (this.#closed || answer.headers["sec-websocket-accept"] !== accept) {
      stream.destroy();
      return this.#end(LOST);
    }
    this.#stream = stream;
    this.#abort = () => stream.end();
    stream.on("error", () => this.#end(LOST));
    stream.on("close", () => this.#end(LOST));
    stream.on("end", () => stream.end());
    stream.on("data", (bytes: Buffer) => this.#take(bytes));
    this.onopen?.({});
    if (head.length) this.#take(head);
  }

  #take(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#arrived += bytes.length;
    // A large frame is put together once, not once for each of its pieces.
    if (this.#arrived < this.#needed) return;
    this.#rest = Buffer.concat(this.#chunks);
    for (let frame = this.#frame(); frame && !this.#closed; frame = this.#frame()) this.#handle(...frame);
    this.#chunks = [this.#rest];
    this.#arrived = this.#rest.length;
  }

  /** The next whole frame of the server, which masks nothing: its first byte and its body. */
  #frame(): [number, Buffer] | null {
    const rest = this.#rest;
    this.#needed = 2;
    if (rest.length < 2) return null;
    let size = rest[1]! & 127;
    let start = 2;
    if (size > 125) {
      start = size === 126 ? 4 : 10;
      this.#needed = start;
      if (rest.length < start) return null;
      size = size === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    }
    if (size > LARGEST) {
      this.close(1009);
      return null;
    }
    this.#needed = start + size;
    if (rest.length < start + size) return null;
    this.#rest = rest.subarray(start + size);
    return [rest[0]!, rest.subarray(start, start + size)];
  }

  #handle(first: number, body: Buffer): void {
    const kind = first & 15;
    if (kind === PING) return this.#write(PONG, body);
    if (kind === PONG) return;
    if (kind === CLOSE) {
      this.#write(CLOSE, body);
      this.#stream?.end();
      return this.#end(body.length >= 2 ? body.readUInt16BE(0) : 1005, body.subarray(2).toString());
    }
    this.#parts.push(body);
    this.#size += body.length;
    if (this.#size > LARGEST) return this.close(1009);
    if (!(first & 128)) return;
    const text = Buffer.concat(this.#parts.splice(0)).toString();
    this.#size = 0;
    this.onmessage?.({ data: text });
  }

  #write(kind: number, body: Buffer): void {
    if (!this.#stream || this.#closed) return;
    const { length } = body;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 128 | kind;
    head[1] = 128 | (length < 126 ? length : length < 65_536 ? 126 : 127);
    if (head.length === 4) head.writeUInt16BE(length, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
    const mask = randomBytes(4);
    const masked = Buffer.from(body);
    for (let at = 0; at < length; at++) masked[at]! ^= mask[at & 3]!;
    this.#stream.write(Buffer.concat([head, mask, masked]));
  }

  #end(code: number, reason = ""): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.({ code, reason });
  }
}
