/** One run in the conversation of its thread. */

import { read } from "./api.mjs";
import { Conversation } from "./conversation.mjs";
import { paced, perFrame, write } from "./dom.mjs";
import { Fold } from "./fold.mjs";
import { mark } from "./found.mjs";
import { retell } from "./source/retell.mjs";
import { RunStream } from "./stream.mjs";

/** Events that are read one by one; a longer run is told by its outline and its messages. */
const SHORT = 2000;
const ROWS = 5000;
const PAUSE = 100;

export class Turn {
  /** `onDraw()` is called when the turn may have another height. */
  constructor(node, onDraw) {
    Object.assign(this, { node, onDraw, begun: false, fold: new Fold(), data: node.dataset });
    this.root = node.querySelector(".conversation");
  }

  get isActive() {
    return Boolean(this.data.active);
  }

  get isEmpty() {
    return Boolean(this.data.purged) || this.data.head === "0";
  }

  /** Read a run that has ended; a run that cannot be read stays as the host drew it. */
  async read() {
    if (Number(this.data.head) > SHORT) return this.retell().catch(() => {});
    await new Promise((done) => {
      const stream = this.stream({ onState: (name) => ["ended", "lost", "reset"].includes(name) && (stream.close(), done()) });
      stream.open();
    });
    if (this.fold.items.length) this.show();
  }

  async retell() {
    const { rows } = await read(`${this.data.outline}?after=0&since=0&limit=${ROWS}`);
    const messages = this.data.messages ? await read(this.data.messages) : null;
    retell(this.fold, rows, messages);
    this.show();
  }

  /** Follow a run that goes on. */
  follow({ onState, onEvent, onEnd }) {
    const draw = paced(perFrame(() => this.show(true)), PAUSE);
    this.stream({
      onEvent: () => {
        onEvent();
        draw();
      },
      onState: (name, status) => {
        onState(name, status);
        if (!["ended", "lost", "reset"].includes(name)) return;
        this.data.active = "";
        draw();
        onEnd();
      },
    }).open();
  }

  stream({ onEvent = () => {}, onState }) {
    return new RunStream({
      events: this.data.events,
      run: this.data.status,
      onEvent: (seq, event) => {
        this.fold.feed(seq, event);
        onEvent();
      },
      onState,
    });
  }

  show(isLive = false) {
    if (!this.view) {
      if (!this.fold.items.length) return;
      this.root.replaceChildren();
      this.view = new Conversation({
        root: this.root, fold: this.fold, follows: isLive, onPick: (seq) => this.speakOf(seq),
        earlier: this.node.querySelector(".earlier"), later: this.node.querySelector(".more"),
      });
    }
    this.fold.items = this.fold.items.filter((item) => item.kind !== "interrupt");
    this.view.draw();
    this.view.cite(this.fold.state, this.fold.stateVersion);
    for (const link of this.root.querySelectorAll("a.at[href^='#']")) link.href = this.data.page + link.hash;
    this.placeComments();
    this.placeThumbs();
    mark(this.root);
    this.onDraw();
  }

  /** Comments on an event stand after the part of the conversation in which it happened. */
  placeComments() {
    if (!this.view) return;
    for (const comment of this.node.querySelectorAll(".turn-foot > .comment[data-seq]")) {
      const item = this.fold.items.findLast(({ seq }) => seq <= Number(comment.dataset.seq));
      const place = item && this.view.shown.get(item.key)?.node;
      if (!place || comment.dataset.placed) continue;
      comment.dataset.placed = "yes";
      const copy = comment.cloneNode(true);
      this.root.querySelector(`[data-comment="${comment.id}"]`)?.remove();
      copy.dataset.comment = comment.id;
      copy.removeAttribute("id");
      place.after(copy);
      comment.hidden = true;
    }
  }

  /** Each answer is rated where it stands; the foot has the form, and how the answers are rated. */
  placeThumbs() {
    const form = this.node.querySelector("form[data-rated]");
    if (!form || !this.view) return;
    const rated = JSON.parse(form.dataset.rated);
    for (const [key, view] of this.view.shown) {
      const item = this.fold.byKey.get(key);
      if (!item?.own || item.open || item.role !== "assistant" || view.rated === form.dataset.rated) continue;
      view.rated = form.dataset.rated;
      if (!view.thumbs) {
        view.thumbs = form.querySelector("template").content.firstElementChild.cloneNode(true);
        view.node.querySelector("header > .at").before(view.thumbs);
      }
      const [up, down, mine] = rated[item.id] ?? [0, 0, ""];
      const [good, bad] = view.thumbs.children;
      for (const [button, thumb, people] of [[good, "up", up], [bad, "down", down]]) {
        button.value = `${mine === thumb ? "" : thumb} ${item.id}`;
        button.ariaPressed = mine === thumb;
        write(button.lastElementChild, people || "");
      }
    }
  }

  /** The comment form is about this event. */
  speakOf(seq) {
    const say = this.node.querySelector(".say");
    if (!say) return;
    say.open = true;
    say.querySelector("[name=seq]").value = seq;
    say.querySelector(".on").textContent = `#${seq}`;
    say.querySelector("textarea").focus();
  }
}
