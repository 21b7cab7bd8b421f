// Reads {openapi, asyncapi}, two texts, and prints what Spectral and the parser of AsyncAPI find.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const require = createRequire(import.meta.url);
const { Spectral, Document } = require("@stoplight/spectral-core");
const Parsers = require("@stoplight/spectral-parsers");
const { oas, asyncapi } = require("@stoplight/spectral-rulesets");
const { Parser } = require("@asyncapi/parser");

const descriptions = JSON.parse(await text(process.stdin));
const off = {
  "info-contact": "off", // Of the host's operator, who is unknown here.
  "asyncapi-info-contact": "off",
  "asyncapi-latest-version": "off", // 3.1 adds nothing that this description needs.
  "asyncapi-3-channel-no-trailing-slash": "off", // The addresses of the sockets have one.
};

async function lint(ruleset, source, names) {
  const rules = Object.fromEntries(Object.entries(off).filter(([name]) => name in ruleset.rules));
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [ruleset], rules });
  const found = await spectral.run(new Document(source, Parsers.Yaml, names));
  return found.map(({ code, message, path }) => `${code}: ${message} (${path.join(".")})`);
}

const { document, diagnostics } = await new Parser().parse(descriptions.asyncapi);
const errors = diagnostics.filter(({ severity }) => severity < 2);
console.log(
  JSON.stringify({
    openapi: await lint(oas, descriptions.openapi, "openapi.json"),
    asyncapi: await lint(asyncapi, descriptions.asyncapi, "asyncapi.yaml"),
    parser: errors.map(({ code, message }) => `${code}: ${message}`),
    channels: document?.channels().all().length ?? 0,
  }),
);
