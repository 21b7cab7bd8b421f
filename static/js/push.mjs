/** The inbox's switch for notifications on this device. The browser asks only after its person has. */

import { find, h } from "./dom.mjs";
import { answered } from "./api.mjs";

const form = find("push");
const button = form?.querySelector("button");
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

async function tell(action, subscription) {
  const body = new URLSearchParams(new FormData(form));
  const { endpoint, keys } = subscription.toJSON();
  for (const [name, value] of Object.entries({ endpoint, ...keys })) body.set(name, value);
  const answer = await fetch(action, { method: "POST", body });
  if (!answer.ok) await answered(answer);
}

function show(on) {
  button.disabled = false;
  button.textContent = on ? "Turn off notifications here" : "Notify me on this device";
  button.setAttribute("aria-pressed", on);
}

async function press(registration) {
  let subscription = await registration.pushManager.getSubscription();
  if (subscription) {
    await tell(form.dataset.off, subscription);
    await subscription.unsubscribe();
    return show(false);
  }
  if ((await Notification.requestPermission()) !== "granted") throw new Error("Your browser does not allow notifications of this page.");
  subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(form.dataset.key) });
  await tell(form.action, subscription);
  show(true);
}

if (form && window.PushManager && window.Notification && navigator.serviceWorker) {
  const registration = await navigator.serviceWorker.register("/service-worker.js");
  const subscription = await registration.pushManager.getSubscription();
  show(Boolean(subscription));
  // A new session of the same person, or the key of a new installation.
  if (subscription) tell(form.action, subscription).catch(() => {});
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.querySelector("p")?.remove();
    press(registration).catch((error) => form.append(h("p", { class: "banner bad", role: "alert" }, error.message)));
  });
} else if (form) {
  form.hidden = true;
}
