/** The frames of this host's event streams: text between empty lines, an event and its number. */
// The last id counts. Not by the m flag: to that, U+2028 inside a text would end a line.
const CURSOR = /^(?:[^]*\n)?id: ((?:\d+-)?(\d+))(?:\n|$)/;
const RESET = /(?:^|\n)event: reset\n/;
const DATA = /(?:^|\n)data: ([^\n]+)/;
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const BOUNDARY = /"type":"RUN_(STARTED|FINISHED|ERROR)"/;
/** Keep track of where a stream is: that of a thread may continue with the next run. */
export function follow(reading, frame) {
    if (!BOUNDARY.test(frame))
        return;
    const { type, runId } = JSON.parse(DATA.exec(frame)[1]);
    const starts = type === "RUN_STARTED";
    if (starts && reading.ended && numberOf(frame))
        Object.assign(reading, { id: null, runId });
    if (starts || ENDS.has(type))
        reading.ended = !starts;
}
/** The whole frames of a body, until it ends, falls silent or is left; half a frame at its end will come again. */
export async function* split(body, silence, signal) {
    const reader = body.getReader();
    const stop = () => reader.cancel().catch(() => { });
    signal.addEventListener("abort", stop, { once: true });
    const decoder = new TextDecoder();
    let rest = "";
    try {
        for (;;) {
            const silent = setTimeout(stop, silence);
            const { done, value } = await reader.read().finally(() => clearTimeout(silent));
            if (done)
                return;
            const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
            rest = parts.pop();
            yield* parts;
        }
    }
    finally {
        signal.removeEventListener("abort", stop);
        void stop();
    }
}
/** The number of an event in its run; 0 for a frame without one. */
export const numberOf = (frame) => Number(CURSOR.exec(frame)?.[2] ?? 0);
/** Its cursor: the number, and after the first epoch of the host's history that epoch. */
export const cursorOf = (frame) => CURSOR.exec(frame)?.[1] ?? "0";
/** The content of the last frame if the host's history went back: the epoch, and the newest number there is. */
export function resetOf(frame) {
    return RESET.test(frame) ? JSON.parse(DATA.exec(frame)[1]) : null;
}
/** Whether a frame holds an event; the others keep the connection alive. */
export const isEvent = (frame) => DATA.test(frame);
