/** A thread as one conversation: each turn is read when it comes into sight, the active one is followed. */

import { startClock } from "./clock.mjs";
import { find, pauseWhenHidden, showConnection } from "./dom.mjs";
import { mark } from "./found.mjs";
import { source } from "./news.mjs";
import { isSignIn, signedOut } from "./session.mjs";
import { Turn } from "./turn.mjs";

const AHEAD = "800px";
const NEAR = 80;
const turns = new Map();
const wanted = [];
let reading = false;
let live = null;
const end = find("end");
const opensAtEnd = find("composer") && ["", "#end"].includes(location.hash) && !location.search;
let atEnd = false;
let before = 0;
let below = 0;

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) want(turns.get(target));
}, { rootMargin: AHEAD });

function adopt() {
  for (const node of document.querySelectorAll("article.turn")) {
    if (turns.has(node)) continue;
    turns.set(node, new Turn(node, stay));
    sight.observe(node);
  }
  for (const turn of turns.values()) {
    turn.placeComments();
    turn.placeThumbs();
  }
  stay();
  follow();
}

function want(turn) {
  if (!turn || turn.begun || turn.isActive || turn.isEmpty) return;
  turn.begun = true;
  // The last one wanted is the one in sight.
  wanted.push(turn);
  if (!reading) pump();
}

async function pump() {
  reading = true;
  while (wanted.length) await wanted.pop().read();
  reading = false;
}

/** Follow the oldest run that has not ended; the next when it ends. */
function follow() {
  if (live) return;
  const turn = [...turns.values()].find((each) => each.isActive && each.node.isConnected && !each.begun);
  if (!turn) return showConnection("ended");
  live = turn;
  turn.begun = true;
  find("connection").classList.add("reserved");
  const heard = source("stream");
  turn.follow({
    onState: (name, status) => {
      showConnection(name, "You can no longer see this run");
      if (name === "lost" && status === 401) signedOut();
    },
    onEvent: heard.heard,
    onEnd: () => {
      heard.end();
      live = null;
      document.body.dispatchEvent(new Event("news"));
      follow();
    },
  });
}

/** A reader at the end of the thread stays there while turns get another height. */
function look() {
  const isAtEnd = end.getBoundingClientRect().top <= innerHeight + NEAR;
  // Only people scroll up. Without any scrolling, the page has grown.
  if (isAtEnd || scrollY < before) atEnd = isAtEnd;
  before = scrollY;
  if (isAtEnd) below = document.documentElement.scrollHeight - scrollY;
}

function stay() {
  if (atEnd && (opensAtEnd || live)) scrollTo({ top: document.documentElement.scrollHeight - below });
}

document.body.addEventListener("htmx:afterSettle", adopt);
document.body.addEventListener("htmx:oobAfterSwap", adopt);
document.body.addEventListener("news", adopt);
startClock();
pauseWhenHidden();
for (const part of document.querySelectorAll(".found, .conversation")) mark(part);
adopt();
if (opensAtEnd) end.scrollIntoView({ block: "end" });
if (end) {
  look();
  addEventListener("scroll", look, { passive: true });
}
