// The stock client of Durable Streams reads runs of a host, one for each way to read.
// In: {headers, reads: [{name, url, offset, live, take}]}; out: {name: {types, closed, offset}}.
import { stream, DurableStream } from "@durable-streams/client"
import { readFileSync } from "node:fs"

const { headers, reads } = JSON.parse(readFileSync(0, "utf8"))

async function read({ url, offset, live, take }) {
  const handle = new DurableStream({ url, headers })
  const head = await handle.head()
  const events = []
  const first = await stream({ url, headers, offset, live })
  for await (const event of first.jsonStream()) {
    events.push(event)
    if (events.length === take) break
  }
  return { events, head, closed: first.streamClosed, offset: first.offset }
}

const results = await Promise.all(reads.map(async (each) => [each.name, await read(each)]))
process.stdout.write(JSON.stringify(Object.fromEntries(results)), () => process.exit(0))
