/** A message's content besides its text: pictures are shown, and the rest is named and linked. */

import { h } from "./dom.mjs";

const CONTENT = /^\/api\/v1\/files\/[0-9a-f-]{32,36}\/content$/;
const ID = /^[0-9a-f-]{32,36}$/;
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)$/;
const MOST = 50;

/** The nodes for the parts of a message that are no text. */
export function attachments(parts) {
  const nodes = parts.slice(0, MOST).map(attachment);
  if (parts.length > MOST) nodes.push(h("span", { class: "hint" }, `${parts.length - MOST} more`));
  return nodes;
}

function attachment(part) {
  const source = part.source ?? {};
  const url = address(source);
  const label = [part.metadata?.filename ?? part.filename ?? part.type, source.mimeType].filter((each) => typeof each === "string").join(" · ");
  const name = url && !url.startsWith("data:") ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, label) : h("span", {}, label);
  if (part.type !== "image" || !shows(url, source)) return h("span", { class: "attachment" }, name);
  const picture = h("img", { src: url, alt: label, loading: "lazy" });
  // A reader with a link sees the message, and not the team's files.
  picture.addEventListener("error", () => picture.remove());
  return h("span", { class: "attachment" }, picture, name);
}

/** Where the page can read it: a file of this host, an address elsewhere, or in itself. */
function address({ type, value, provider, mimeType }) {
  if (typeof value !== "string") return null;
  if (type === "file") return (provider ?? "agui-host") === "agui-host" && ID.test(value) ? `/api/v1/files/${value}/content` : null;
  if (type === "data") return PICTURE.test(mimeType) ? `data:${mimeType};base64,${value}` : null;
  if (type !== "url") return null;
  const own = value.startsWith(`${location.origin}/`) ? value.slice(location.origin.length) : value;
  if (CONTENT.test(own)) return own;
  return /^https?:\/\//i.test(value) ? value : null;
}

/** Only what this host has: a picture elsewhere would tell its host who looks. */
function shows(url, { type }) {
  return Boolean(url) && (type === "data" || CONTENT.test(url));
}
