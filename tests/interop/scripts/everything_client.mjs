// A client on the official TypeScript SDK that uses server-everything, or what plays it, in lines:
// `everything_client.mjs FOLDER COMMAND [ARGUMENT ...]`, where FOLDER holds `node_modules`.  Prints one JSON
// object: what it saw, in the order in which it saw it.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, command, ...args] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));

const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const types = await load("types.js");

const client = new Client(
  { name: "everything-user", version: "1" },
  { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } },
);
const asked = [];
const answer = (schema, result) =>
  client.setRequestHandler(schema, (request) => {
    asked.push([request.method, request.params ?? null]);
    return result;
  });
answer(types.ListRootsRequestSchema, { roots: [{ uri: "file:///tmp/here", name: "here" }] });
answer(types.CreateMessageRequestSchema, { role: "assistant", model: "m", content: { type: "text", text: "said" } });
answer(types.ElicitRequestSchema, { action: "accept", content: { name: "Ada", check: true } });
client.fallbackNotificationHandler = async () => {};

const report = {};
const step = async (name, work) => {
  try {
    report[name] = await work();
  } catch (error) {
    report[name] = { failed: error.message, code: error.code };
  }
};
const call = (name, given = {}, options = {}) => client.callTool({ name, arguments: given }, undefined, options);

await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
// The server asks for them a moment after the handshake; what it asks later is asked by the calls.
while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
await step("server", async () => [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
await step("tools", () => client.listTools());
await step("echo", () => call("echo", { message: "é🙂" }));
await step("sum", () => call("get-sum", { a: 2, b: 3 }));
const progress = [];
await step("long", () =>
  call("trigger-long-running-operation", { duration: 0.2, steps: 4 }, { onprogress: (at) => progress.push(at) }),
);
report.progress = progress.slice(0, 3); // the last comes together with the reply, and the SDK may lose it
await step("several", () => Promise.all([1, 2, 3, 4].map((n) => call("echo", { message: `number ${n}` }))));
await step("sampled", () => call("trigger-sampling-request", { prompt: "say something", maxTokens: 10 }));
await step("elicited", () => call("trigger-elicitation-request"));
await step("roots", () => call("get-roots-list"));
await step("wrong", () => call("get-sum", { a: "two" }));
await step("unknown", () => call("there-is-none"));
await step("resources", () => client.listResources());
await step("templates", () => client.listResourceTemplates());
await step("read", async () => client.readResource({ uri: report.resources.resources[0].uri }));
await step("prompts", () => client.listPrompts());
await step("prompt", () => client.getPrompt({ name: "args-prompt", arguments: { city: "Paris" } }));
await step("ping", () => client.ping());
await client.close();
report.asked = asked;
console.log(JSON.stringify(report));
