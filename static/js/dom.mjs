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

/** Set a text that may be the same as before, which the browser would lay out again. */
export function write(element, text) {
  if (element.textContent !== `${text}`) element.textContent = text;
}

/** Show `text` in an alert, or hide it when there is none. */
export function alertIn(element, text) {
  element.hidden = !text;
  element.textContent = text ?? "";
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

/** Act at once, and from then on at most every `pause` ms, however often this is called. */
export function paced(act, pause) {
  let timer = 0;
  let last = -Infinity;
  const go = () => {
    timer = 0;
    last = performance.now();
    act();
  };
  return () => {
    const rest = last + pause - performance.now();
    if (rest <= 0 && !timer) go();
    else timer ||= setTimeout(go, rest);
  };
}

const CONNECTION = { connecting: "Connecting …", live: "Live", reconnecting: "Reconnecting …", ended: "" };

/**
 * Show how the page's stream is; `lost` is the page's text for a stream that does not come back.
 * Where nothing is live no place is reserved: reading an ended run is no news, and would move the page.
 */
export function showConnection(name, lost) {
  const place = find("connection");
  const isNews = place.classList.contains("reserved") || !["connecting", "live"].includes(name);
  place.dataset.is = isNews ? name : "";
  place.textContent = isNews ? CONNECTION[name] ?? lost : "";
}

/** Let htmx poll only while the page can be seen. */
export function pauseWhenHidden() {
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden) event.preventDefault();
  });
}
