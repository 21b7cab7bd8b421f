// The stock client of Durable Streams reads runs of a host, one for each way to read.
// In: {headers, reads: [{name, url, offset, live, cut, gate}]}; out: {name: {events, head, closed, offset, losses}}.
// "cut" is the text behind whose third appearance the first live connection is lost; the file "gate"
// lets the run go on.
import { DurableStream } from "@durable-streams/client"
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"

import { cutAfter } from "./cases.mjs"
import { follow } from "./durable.mjs"

const { headers, reads } = JSON.parse(readFileSync(0, "utf8"))

async function read({ url, offset, live, cut, gate }) {
  const handle = new DurableStream({ url, headers })
  const head = await handle.head()
  const events = []
  let losses = 0
  const fetch = async (...request) => {
    const answer = await globalThis.fetch(...request)
    const isLive = answer.headers.get("content-type")?.includes("event-stream")
    if (!cut || !isLive || losses) return answer
    await writeFile(gate, "")
    return cutAfter(answer, cut, 3)
  }
  const options = { url, headers, offset, live, fetch }
  const last = await follow(options, (items) => events.push(...items), () => void (losses += 1))
  return { events, head, closed: last.streamClosed, offset: last.offset, losses }
}

const results = await Promise.all(reads.map(async (each) => [each.name, await read(each)]))
process.stdout.write(JSON.stringify(Object.fromEntries(results)), () => process.exit(0))
