// The stock producer of Durable Streams feeds a run, with a fetch that tries again.
// In: {url, headers, epoch, autoClaim, events, close, stale, batchBytes}; out: {offset, epoch, errors}.
// `stale`: the epoch of another producer of the same name, which sends one event at the end.
import { DurableStream, IdempotentProducer } from "@durable-streams/client"
import { readFileSync } from "node:fs"

const { url, headers, epoch, autoClaim, events, close, stale, batchBytes = 20_000 } =
  JSON.parse(readFileSync(0, "utf8"))

async function retrying(input, init) {
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await fetch(input, init)
      if (answer.status < 500) return answer
    } catch (error) {
      if (attempt > 300) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const stream = new DurableStream({ url, headers, contentType: "application/json" })
const errors = []
const options = {
  fetch: retrying, lingerMs: 1, maxBatchBytes: batchBytes, onError: (error) => errors.push(error.name),
}
const producer = new IdempotentProducer(stream, "p", { ...options, epoch, autoClaim })
for (const event of events) {
  producer.append(JSON.stringify(event))
  if (producer.inFlightCount > 20) await producer.flush()
}
await producer.flush()
let old
if (stale !== undefined) {
  old = new IdempotentProducer(stream, "p", { ...options, epoch: stale })
  old.append(JSON.stringify({ type: "CUSTOM", name: "late", value: 1 }))
  await old.flush().catch(() => {})
}
const offset = close ? (await producer.close()).finalOffset : producer.lastSuccessfulOffset
process.stdout.write(JSON.stringify({ offset, epoch: producer.epoch, errors }), () => process.exit(0))
