/** A thread as one conversation: each turn is read when it comes into sight, the active one is followed. */

import { startClock } from "./clock.mjs";
import { find, pauseWhenHidden, showConnection } from "./dom.mjs";
import { mark } from "./found.mjs";
import { source } from "./news.mjs";
import { isSignIn, signedOut } from "./session.mjs";
import { Turn } from "./turn.mjs";

const AHEAD = "800px";
const turns = new Map();
const wanted = [];
let reading = false;
let live = null;

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) want(turns.get(target));
}, { rootMargin: AHEAD });

function adopt() {
  for (const node of document.querySelectorAll("article.turn")) {
    if (turns.has(node)) continue;
    turns.set(node, new Turn(node));
    sight.observe(node);
  }
  for (const turn of turns.values()) turn.placeComments();
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

document.body.addEventListener("htmx:afterSettle", adopt);
document.body.addEventListener("htmx:oobAfterSwap", adopt);
startClock();
pauseWhenHidden();
for (const part of document.querySelectorAll(".found, .conversation")) mark(part);
adopt();
if (find("composer") && !location.hash && !location.search) find("end").scrollIntoView({ block: "end" });
