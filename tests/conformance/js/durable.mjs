// Reads a Durable Stream to its end with the stock client.

import { stream } from "@durable-streams/client";

/** `take` gets the items of each batch; where a connection is lost, `lost` may wait, and the next
 * one begins behind the last batch. The stock client's answer to the last connection. */
export async function follow({ offset = "-1", ...options }, take, lost = () => {}) {
  for (let behind = offset; ; ) {
    const answer = await stream({ ...options, offset: behind });
    const whole = new Promise((done) =>
      answer.subscribeJson((batch) => {
        behind = batch.offset;
        take(batch.items);
        if (batch.streamClosed) done();
      }),
    );
    try {
      await answer.closed; // It may come before the last batch has been read.
      await whole;
      return answer;
    } catch (error) {
      await lost(error);
    }
  }
}
