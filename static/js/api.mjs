/** The public API: JSON in, JSON out; a refusal is an Error with the host's message. */

const TYPE = "application/json";

/** The body of an answer. */
export async function answered(answer) {
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.error?.message ?? `The host answered ${answer.status}.`);
  return body;
}

export const read = async (url) => answered(await fetch(url, { headers: { Accept: TYPE } }));

export const post = async (url, body) =>
  answered(await fetch(url, { method: "POST", headers: { Accept: TYPE, "Content-Type": TYPE }, body: JSON.stringify(body) }));
