// A front end's server as Express applications have it: compression() before a proxy to the host.
//
// stdin:  a line {"url", "key", "requests": {name: {"path", "body", "until"}}, "again": request},
//         then a line when all may end
// stdout: "begun" once each answer has its `until`, then {name: {"encoding", "text"}}.
//         "stripped" is the answer to `again`, from which the proxy takes the host's rule for caches

import http from "node:http";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";

import compression from "compression";
import express from "express";
import { createProxyMiddleware } from "http-proxy-middleware";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { url, key, requests, again } = JSON.parse((await lines.next()).value);

const app = express();
app.use(compression());
const on = {
  proxyRes(answer, { headers }) {
    if (headers["x-strip"]) answer.headers["cache-control"] = "no-cache";
  },
};
app.use("/", createProxyMiddleware({ target: url, changeOrigin: true, on }));
const server = app.listen(0, "127.0.0.1");
await new Promise((up) => server.once("listening", up));
const { port } = server.address();

/** An answer as it arrives; `begun` resolves once it has `until`. */
function ask({ path, method = "POST", headers, body, until = "" }) {
  const seen = { text: "" };
  const common = { authorization: `Bearer ${key}`, "content-type": "application/json", "accept-encoding": "gzip" };
  const begun = new Promise((begin, fail) => {
    seen.whole = new Promise((end) => {
      const request = http.request({ port, path, method, headers: { ...common, accept: "text/event-stream", ...headers } }, (answer) => {
        seen.status = answer.statusCode;
        seen.encoding = answer.headers["content-encoding"] ?? "none";
        const plain = seen.encoding === "gzip" ? answer.pipe(createGunzip()) : answer;
        plain.setEncoding("utf8");
        plain.on("data", (piece) => {
          seen.text += piece;
          if (seen.text.includes(until)) begin();
        });
        plain.on("end", () => {
          end();
          fail(new Error(`${path} ended without ${until}: ${seen.status} ${seen.text.slice(0, 300)}`));
        });
      });
      request.on("error", fail);
      request.end(body && JSON.stringify(body));
    });
  });
  return { begun, seen };
}

const asked = Object.entries(requests).map(([name, request]) => [name, ask(request)]);
await Promise.all(asked.map(([, { begun }]) => begun));
console.log("begun");
await lines.next();
await Promise.all(asked.map(([, { seen }]) => seen.whole));
const finished = ask({ ...again, headers: { "x-strip": "1" } });
await finished.seen.whole;
await finished.begun.catch(() => {});
const answers = [...asked, ["stripped", finished]];
console.log(JSON.stringify(Object.fromEntries(answers.map(([name, { seen: { status, encoding, text } }]) => [name, { status, encoding, text }]))));
process.exit(0);
