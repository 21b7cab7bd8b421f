/** A little help with the DOM. Text is always set as text: nothing an agent wrote becomes markup. */

/** An element: `h("p", { class: "hint" }, "text", child)`; null children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export const find = (id) => document.getElementById(id);

/** Show `text` in an alert, or hide it when there is none. */
export function alertIn(element, text) {
  element.hidden = !text;
  element.textContent = text ?? "";
}

/** POST JSON to the public API; the parsed answer, or an Error with the host's message. */
export async function post(url, body) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
  });
  const parsed = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(parsed?.error?.message ?? `The host answered ${answer.status}.`);
  return parsed;
}

/** Draw before the next frame, once, however often this is called until then. */
export function perFrame(draw) {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      draw();
    });
  };
}

const CONNECTION = { connecting: "Connecting …", live: "Live", reconnecting: "Reconnecting …", ended: "" };

/** Show how the page's stream is; `lost` is what a page says of one that does not come back. */
export function showConnection(name, lost) {
  find("connection").dataset.is = name;
  find("connection").textContent = CONNECTION[name] ?? lost;
}

/** Let htmx poll only while the page can be seen. */
export function pauseWhenHidden() {
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden) event.preventDefault();
  });
}
