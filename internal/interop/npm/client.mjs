// SPDX-License-Identifier: Apache-2.0

// A client made with the TypeScript SDK that a test drives over standard input and output: see the type driver in peer_test.go. The
// arguments are the agent's command line.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { inspect } from "node:util";

const unstable = process.env.ACP_UNSTABLE ? "/unstable" : "";
const acp = await import("@agentclientprotocol/sdk" + unstable);

const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// The SDK tells on the console what it could not make sense of.
console.error = console.warn = (...what) =>
  send({ problem: what.map((w) => (typeof w === "string" ? w : inspect(w, { depth: 8 }))).join(" ") });

// The agent is a command, or a server: ACP_URL is its address, ACP_TOKEN its token.
const connectTo = async (url, token) => {
  if (url.startsWith("ws")) {
    const { createWebSocketStream } = await import("@agentclientprotocol/sdk/experimental/ws-client");
    return createWebSocketStream(url, { protocols: ["acp", "bearer." + token] });
  }
  const { createHttpStream } = await import("@agentclientprotocol/sdk/experimental/http-client");
  return createHttpStream(url, { headers: { Authorization: "Bearer " + token } });
};

const start = () => {
  const [command, ...args] = process.argv.slice(1);
  const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  return {
    stream: acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)),
    end: () => agent.stdin.end(),
    exited: new Promise((resolve) => agent.on("exit", (code) => resolve(code ?? 1))),
  };
};
const agent = process.env.ACP_URL
  ? { stream: await connectTo(process.env.ACP_URL, process.env.ACP_TOKEN), end: () => connection.close(), exited: 0 }
  : start();

const waiting = new Map();
let lastRequest = 0;

const ask = (method, params) =>
  new Promise((resolve, reject) => {
    const id = ++lastRequest;
    waiting.set(id, { resolve, reject });
    send({ request: id, method, params });
  });

const app = acp.client({ name: "interop" });
const { session, fs, terminal, elicitation } = acp.methods.client;
for (const method of [session.requestPermission, elicitation.create, ...Object.values(fs), ...Object.values(terminal)]) {
  app.onRequest(method, ({ params }) => ask(method, params));
}
for (const method of [session.update, elicitation.complete]) {
  app.onNotification(method, ({ params }) => send({ notification: method, params }));
}

const connection = app.connect(agent.stream);

// The SDK resolves an answer while its handlers are still on their way to the updates that came before it, so the test is told of the
// answer once they are done.
const settled = () => new Promise((resolve) => setImmediate(resolve));

const call = async ({ call, method, params }) => {
  try {
    const result = await connection.agent.request(method, params);
    await settled();
    send({ answer: call, result });
  } catch (error) {
    await settled();
    send({ answer: call, error: { code: error.code ?? 0, message: error.message, data: error.data } });
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.call !== undefined) {
    void call(message);
  } else if (message.notify !== undefined) {
    await connection.agent.notify(message.notify, message.params);
  } else {
    const { resolve, reject } = waiting.get(message.answer);
    waiting.delete(message.answer);
    if (message.error) {
      reject(new acp.RequestError(message.error.code, message.error.message, message.error.data));
    } else {
      resolve(message.result);
    }
  }
}

agent.end();
process.exitCode = await agent.exited;
