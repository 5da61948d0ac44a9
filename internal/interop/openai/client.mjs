// SPDX-License-Identifier: Apache-2.0
// The openai SDK as a program uses it, against an agent: node client.mjs BASE_URL TOKEN. See python/openai_client.py.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const model = "agent";
const user = (content) => [{ role: "user", content }];
const text = "0 1 2 3 4 5 6 7 8 9 ";

const models = [];
for await (const m of client.models.list()) models.push(m.id);
assert.deepEqual(models, [model]);

let c = await client.chat.completions.create({ model, messages: user("count") });
assert.equal(c.choices[0].message.content, text);
assert.equal(c.choices[0].finish_reason, "stop");
assert.equal(c.usage.total_tokens, 31);
let said = "", reason, usage;
for await (const chunk of await client.chat.completions.create({ model, messages: user("count"), stream: true, stream_options: { include_usage: true } })) {
  usage = chunk.usage ?? usage;
  for (const choice of chunk.choices) {
    said += choice.delta.content ?? "";
    reason = choice.finish_reason ?? reason;
  }
}
assert.deepEqual([said, reason, usage.completion_tokens], [text, "stop", 20]);
assert.equal(await client.chat.completions.stream({ model, messages: user("count") }).finalContent(), text);

const png = "data:image/png;base64,iVBORw0KGgo=";
c = await client.chat.completions.create({
  model, messages: [
    { role: "developer", content: "You are a pirate." }, { role: "user", content: "one" }, { role: "assistant", content: "two" },
    { role: "user", content: [{ type: "text", text: "recall" }, { type: "image_url", image_url: { url: png } }] },
  ],
});
assert.equal(c.choices[0].message.content, "user:one assistant:two user:recall user:image/png");

let r = await client.responses.create({ model, input: "count" });
assert.deepEqual([r.status, r.output_text, r.usage.input_tokens, r.store], ["completed", text, 11, false]);
const kinds = [];
const stream = client.responses.stream({ model, input: "use the tool" });
for await (const event of stream) kinds.push(event.type);
r = await stream.finalResponse();
assert.equal(kinds[0], "response.created");
assert.equal(kinds.at(-1), "response.completed");
assert.deepEqual(r.output.map((o) => o.type), ["message", "mcp_call", "mcp_call", "message"]);
assert.deepEqual([r.output[1].name, r.output[1].output, r.output[1].error], ["add", "5", null]);
assert.match(String(r.output[2].error), /denied/);
const again = await client.responses.create({ model, input: [...user("use the tool"), ...r.output, ...user("recall")] });
assert.match(again.output_text, /assistant:/);

const fails = async (kind, what, f) => assert.rejects(f, (err) => {
  assert.ok(err instanceof kind, String(err));
  for (const [name, value] of Object.entries(what)) value instanceof RegExp ? assert.match(err[name], value) : assert.equal(err[name], value);
  return true;
});
await fails(OpenAI.NotFoundError, { code: "model_not_found", param: "model" }, () => client.chat.completions.create({ model: "gpt-4o", messages: user("x") }));
await fails(OpenAI.AuthenticationError, { code: "invalid_api_key" }, () => new OpenAI({ baseURL, apiKey: "wrong" }).models.list());
await fails(OpenAI.BadRequestError, { param: "messages[0]" }, () => client.chat.completions.create({ model, messages: [{ role: "tool", tool_call_id: "a", content: "paid" }] }));
await fails(OpenAI.BadRequestError, { param: "store" }, () => client.responses.create({ model, input: "x", store: true }));
await fails(OpenAI.InternalServerError, { message: /The model has failed/ }, () => client.chat.completions.create({ model, messages: user("fail") }));
await fails(OpenAI.APIError, { message: /The model has failed/ }, async () => {
  for await (const _ of await client.chat.completions.create({ model, messages: user("half"), stream: true }));
});

// Cancelled in mid-stream, by leaving the loop and by a signal.
for await (const chunk of await client.chat.completions.create({ model, messages: user("story"), stream: true })) if (chunk.choices[0].delta.content) break;
for await (const event of await client.responses.create({ model, input: "story", stream: true })) if (event.type === "response.output_text.delta") break;
const abort = new AbortController();
for await (const chunk of await client.chat.completions.create({ model, messages: user("story"), stream: true }, { signal: abort.signal })) {
  if (chunk.choices[0].delta.content) abort.abort();
}
console.log("done");
process.exit(0);
