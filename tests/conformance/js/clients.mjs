// The kinds of readers, each made from the stock client of one version.
//
// `host-agent.mjs` says `@ag-ui/client`, as an application does. A hook gives it the version that
// its address asks for, so that one process holds both.

import { register } from "node:module";

const HOST_AGENT = new URL("../../../static/js/host-agent.mjs", import.meta.url);

const hook = `
export function resolve(specifier, context, next) {
  if (specifier !== "@ag-ui/client" || !context.parentURL?.includes("/static/js/")) {
    return next(specifier, context);
  }
  const client = new URL(context.parentURL).searchParams.get("client") ?? specifier;
  return next(client, { ...context, parentURL: ${JSON.stringify(import.meta.url)} });
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

/** HttpAgent, HostAgent and readers of the tests, of a client by its package's name. */
export async function clients(name) {
  const { HttpAgent } = await import(name);
  const { HostAgent } = await import(`${HOST_AGENT}?client=${name}`);

  /** Reads a run instead of starting one. */
  class Getter extends HttpAgent {
    requestInit() {
      const headers = { ...this.headers, Accept: "text/event-stream" };
      return { method: "GET", headers, signal: this.abortController.signal };
    }
  }

  return { HttpAgent, HostAgent, Getter };
}
