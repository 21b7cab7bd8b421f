/** A WebSocket as browsers have it: one that is refused or lost is closed, too; Node 20 only tells the error. */
export class BrowserSocket extends WebSocket {
  constructor(...args) {
    super(...args);
    let closed = false;
    this.addEventListener("close", () => (closed = true));
    this.addEventListener("error", () => setTimeout(() => closed || this.onclose?.({ code: 1006, reason: "" }), 10));
  }
}
