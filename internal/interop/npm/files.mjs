// SPDX-License-Identifier: Apache-2.0

// A client made with the TypeScript SDK, with files of its own: files.mjs DIRECTORY COMMAND... It allows everything, and makes one prompt. The SDK's
// sample, src/examples/client.ts, answers a mock; this is the least that reads and writes what its types say.
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [directory, command, ...args] = process.argv.slice(1);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const { session, fs } = acp.methods.client;
const app = acp.client({ name: "files" });
app.onRequest(session.requestPermission, ({ params }) => {
  const { optionId } = params.options.find(({ kind }) => kind === "allow_once");
  return { outcome: { outcome: "selected", optionId } };
});
app.onRequest(fs.readTextFile, async ({ params }) => {
  const content = await readFile(params.path, "utf8");
  if (params.line == null && params.limit == null) {
    return { content };
  }
  const lines = content.split("\n").slice((params.line ?? 1) - 1);
  return { content: lines.slice(0, params.limit ?? lines.length).join("\n") };
});
app.onRequest(fs.writeTextFile, async ({ params }) => {
  await writeFile(params.path, params.content, "utf8");
  return {};
});
app.onNotification(session.update, () => {});

const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const exited = new Promise((resolve) => agent.on("exit", (code) => resolve(code ?? 1)));
const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true } };
await connection.agent.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities });
const { sessionId } = await connection.agent.request("session/new", { cwd: directory, mcpServers: [] });
await connection.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
agent.stdin.end();
process.exitCode = await exited;
