// The stock verifier of Standard Webhooks. In: [{secret, headers, body}]; out: the verified bodies, null if refused.
import { readFileSync } from "node:fs"
import { Webhook } from "standardwebhooks"

const verified = JSON.parse(readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  try {
    return new Webhook(secret).verify(body, headers)
  } catch {
    return null
  }
})
process.stdout.write(JSON.stringify(verified))
