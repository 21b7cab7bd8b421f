/** Every browser has a WebSocket; this stands where Node's lies. */

import type { SocketClass } from "./socket.mjs";

export const WebSocket = class {
  constructor() {
    throw new TypeError("This platform has no WebSocket: pass one as the option `WebSocket`.");
  }
} as unknown as SocketClass;
