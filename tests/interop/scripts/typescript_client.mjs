// A client on the official TypeScript SDK, over HTTP: `typescript_client.mjs FOLDER URL`, where FOLDER
// holds `node_modules` and a URL that begins with `sse+` is for the old transport. Prints one JSON object.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, address] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));

const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { SSEClientTransport } = await load("client/sse.js");
const { LoggingMessageNotificationSchema } = await load("types.js");

const old = address.startsWith("sse+");
const url = new URL(old ? address.slice(4) : address);
const transport = old ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
const client = new Client({ name: "typescript", version: "1" });
const logged = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, (note) => void logged.push(note.params.data));
await client.connect(transport);

const report = { server: client.getServerVersion() };
report.tools = (await client.listTools()).tools.map((tool) => tool.name);
const text = async (name, args, options) =>
  (await client.callTool({ name, arguments: args }, undefined, options)).content[0].text;
report.echo = await text("echo", { text: "é🙂" });
const seen = [];
report.count = await text("count", { steps: 3 }, { onprogress: (at) => seen.push(at.progress) });
report.progress = seen;
report.failed = (await client.callTool({ name: "fail", arguments: { reason: "no luck" } })).isError;
const big = "x".repeat(2 * 1024 * 1024);
report.big = (await text("echo", { text: big })) === big;
report.many = (
  await Promise.all(Array.from({ length: 64 }, (_, index) => text("echo", { text: `${index}` })))
).every((answer, index) => answer === `${index}`);
await text("tell", { text: "told" });
report.logged = logged;
if (!old) await transport.terminateSession();
await client.close();
console.log(JSON.stringify(report));
