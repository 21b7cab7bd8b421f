// A program of somebody who generated a client: one run, streamed, and the same run as the API shows it.

import { aguiAgentRun, apiV1RunsEventsRetrieve, apiV1RunsList } from "./generated/sdk.gen.js";
import { client } from "./generated/client.gen.js";

client.setConfig({ baseUrl: process.env.AGUI_URL!, auth: () => process.env.AGUI_KEY! });
const threadId = crypto.randomUUID();
const messages = [{ role: "user", content: "What is a journal?" }];
const { stream } = await aguiAgentRun({ path: { slug: "docs" }, body: { threadId, messages } });
const types: string[] = [];
for await (const event of stream) types.push((event as unknown as { type: string }).type);

const listed = await apiV1RunsList({ query: { thread_id: threadId }, throwOnError: true });
const [run] = listed.data.results;
const page = await apiV1RunsEventsRetrieve({ path: { run_id: run!.id }, throwOnError: true });
console.log(JSON.stringify({ types, status: run!.status, page: page.data }));
