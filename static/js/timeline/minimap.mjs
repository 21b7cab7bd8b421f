/** The whole run in one canvas: how much happened when, errors and questions; and the scrubber. */

import { h } from "../dom.mjs";

const HEIGHT = 54;
const DRAG = 4;
const MARK = 2;
const HATCH = 6;
/** Kinds of which nothing is open: they do not count for the density. */
const APART = new Set(["queue", "attempt", "state", "error", "interrupt"]);

export class Minimap {
  /** `onSeek(share)`: a place was chosen; `onZoom(from, to)`: a part, in shares of the run; `onStep(by)`: so many events. */
  constructor(canvas, scale, { onSeek, onZoom, onStep }) {
    Object.assign(this, { canvas, scale, onSeek, onZoom, onStep, rows: [], seq: 0, place: null, brush: null });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => this.forget());
    canvas.addEventListener("keydown", (event) => this.walk(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Show these rows, with the event `seq` marked at `place`, a value of the scale. */
  show(rows, seq, place) {
    Object.assign(this, { rows, seq, place });
    this.draw();
    const { head } = this.scale;
    Object.assign(this.canvas, { ariaValueMax: head, ariaValueNow: seq || head, ariaValueText: seq ? `event ${seq} of ${head}` : `the end, event ${head}` });
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const density = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * density, height: HEIGHT * density });
    const context = this.canvas.getContext("2d");
    context.scale(density, density);
    this.drawDensity(context, width);
    // Wider than a mark, which shows in it.
    if (this.seq && this.place !== null) this.line(context, this.x(this.place, width), "ink", 3 * MARK);
    for (const row of this.rows) if (row) this.drawMark(context, width, row);
    this.drawView(context, width);
  }

  x(value, width) {
    return ((value - this.scale.from) / (this.scale.to - this.scale.from)) * width;
  }

  /** How many messages, calls and thoughts were open at each pixel. */
  drawDensity(context, width) {
    const changes = new Float64Array(Math.ceil(width) + 2);
    for (const row of this.rows) {
      if (!row || APART.has(row.kind)) continue;
      const [began, ended] = this.scale.span(row);
      const from = Math.floor(this.x(began, width));
      changes[from] += 1;
      changes[Math.max(Math.floor(this.x(ended, width)), from + 1)] -= 1;
    }
    let most = 1;
    const open = changes.map(((sum) => (change) => (most = Math.max(most, (sum += change)), sum))(0));
    context.fillStyle = this.tone("accent");
    context.globalAlpha = 0.55;
    // The root keeps one call beside fifty in sight.
    open.forEach((count, x) => count && context.fillRect(x, HEIGHT, 1, -Math.sqrt(count / most) * (HEIGHT - 8)));
    context.globalAlpha = 1;
  }

  drawMark(context, width, row) {
    if (row.kind !== "interrupt" && row.kind !== "error" && row.status !== "failed") return;
    const [from, to] = this.scale.span(row).map((value) => this.x(value, width));
    if (row.kind === "interrupt") this.hatch(context, from, Math.max(to, from + HATCH));
    else this.line(context, row.kind === "error" ? from : to, "red");
  }

  hatch(context, from, to) {
    context.save();
    context.beginPath();
    context.rect(Math.min(from, this.canvas.clientWidth - HATCH), 0, to - from, HEIGHT);
    context.clip();
    context.strokeStyle = this.tone("amber");
    context.beginPath();
    for (let x = from - HEIGHT - HATCH; x < to; x += HATCH) {
      context.moveTo(x, HEIGHT);
      context.lineTo(x + HEIGHT, 0);
    }
    context.stroke();
    context.restore();
  }

  line(context, x, tone, width = MARK) {
    context.fillStyle = this.tone(tone);
    context.fillRect(Math.min(Math.max(x - width / 2, 0), this.canvas.clientWidth - width), 0, width, HEIGHT);
  }

  /** Cover the part that is not in sight below, or will not be once the pointer is let go. */
  drawView(context, width) {
    const view = this.brush ?? this.scale.view?.map((value) => this.x(value, width) / width);
    if (!view) return;
    const [from, to] = [Math.min(...view) * width, Math.max(...view) * width];
    context.globalAlpha = 0.7;
    context.fillStyle = this.tone("sunken");
    context.fillRect(0, 0, from, HEIGHT);
    context.fillRect(to, 0, width - to, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = this.tone("accent");
    context.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 1), HEIGHT - 1);
  }

  /** A colour of the page, as a canvas understands it. */
  tone(name) {
    this.probe ??= this.canvas.parentElement.appendChild(h("span", { hidden: true }));
    this.probe.style.color = `var(--${name})`;
    return getComputedStyle(this.probe).color;
  }

  shareOf(event) {
    const { left, width } = this.canvas.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - left) / width, 0), 1);
  }

  press(event) {
    if (event.button) return;
    this.pressed = { x: event.clientX, share: this.shareOf(event) };
    this.canvas.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.pressed || (!this.brush && Math.abs(event.clientX - this.pressed.x) < DRAG)) return;
    this.brush = [this.pressed.share, this.shareOf(event)];
    this.draw();
  }

  release(event) {
    const { pressed, brush } = this;
    this.forget();
    if (brush) this.onZoom(Math.min(...brush), Math.max(...brush));
    else if (pressed) this.onSeek(this.shareOf(event));
  }

  forget() {
    Object.assign(this, { pressed: null, brush: null });
    this.draw();
  }

  walk(event) {
    const { head } = this.scale;
    const page = Math.max(Math.round(head / 20), 1);
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -head, End: head }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.onStep(step);
  }
}
