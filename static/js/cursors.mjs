/** Cursors: opaque, such as 17 or "2-17". They go back to the host as they came; only the number in them is read, here. */

/** The number of the event at a cursor; 0 for none. */
export const seqOf = (cursor) => Number(String(cursor).split("-").pop());
