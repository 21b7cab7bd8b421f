/** Marks the words that a person searched for in a thread. The browser paints them: the page stays as it is. */

const MOST = 2000;
const words = new URLSearchParams(location.search).get("find")?.match(/[\p{L}\p{N}]+/gu);
const pattern = words && globalThis.Highlight ? new RegExp(words.join("|"), "giu") : null;
const marks = pattern && new Highlight();
if (marks) CSS.highlights.set("found", marks);

/** Mark the words in this part of the page, which was drawn again. */
export function mark(root) {
  if (!marks) return;
  for (const range of [...marks]) if (!range.startContainer.isConnected || root.contains(range.startContainer)) marks.delete(range);
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text && marks.size < MOST; text = texts.nextNode()) {
    for (const { index, 0: word } of text.data.matchAll(pattern)) {
      marks.add(new StaticRange({ startContainer: text, startOffset: index, endContainer: text, endOffset: index + word.length }));
    }
  }
}
