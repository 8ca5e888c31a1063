// A server on the official TypeScript SDK that has each feature of the handshake era once.
//
// `features_sdk_server.mjs LINE FOLDER [PORT]`: LINE is 1 or 2, FOLDER holds `node_modules`; it serves
// stdio, or Streamable HTTP at `/mcp`. What it offers stands in `features.json`.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { loader } from "./features_peer.mjs";

const DATA = JSON.parse(readFileSync(new URL("features.json", import.meta.url), "utf8"));
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};
const [line, folder, port] = process.argv.slice(2);
const load = loader(folder);

// 1.x names handlers and results by schemas, 2.x by methods.
async function sdk1() {
  const { Server } = await load("@modelcontextprotocol/sdk/server/index.js");
  const types = await load("@modelcontextprotocol/sdk/types.js");
  const kinds = {
    "tools/list": types.ListToolsRequestSchema,
    "tools/call": types.CallToolRequestSchema,
    "resources/list": types.ListResourcesRequestSchema,
    "resources/templates/list": types.ListResourceTemplatesRequestSchema,
    "resources/read": types.ReadResourceRequestSchema,
    "resources/subscribe": types.SubscribeRequestSchema,
    "resources/unsubscribe": types.UnsubscribeRequestSchema,
    "prompts/list": types.ListPromptsRequestSchema,
    "prompts/get": types.GetPromptRequestSchema,
    "completion/complete": types.CompleteRequestSchema,
  };
  const results = {
    "sampling/createMessage": types.CreateMessageResultWithToolsSchema,
    "elicitation/create": types.ElicitResultSchema,
    "roots/list": types.ListRootsResultSchema,
    ping: types.EmptyResultSchema,
  };
  const { StdioServerTransport } = await load("@modelcontextprotocol/sdk/server/stdio.js");
  const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
  return {
    ...{ Server, StdioServerTransport, HttpTransport: StreamableHTTPServerTransport, McpError: types.McpError },
    kind: (method) => kinds[method],
    talk: (extra) => ({
      signal: extra.signal,
      token: extra._meta?.progressToken,
      notify: (note) => extra.sendNotification(note),
      ask: (question) => extra.sendRequest(question, results[question.method]),
      log: (params) => server.sendLoggingMessage(params, extra.sessionId),
    }),
  };
}

async function sdk2() {
  const { Server, ProtocolError } = await load("@modelcontextprotocol/server");
  const { StdioServerTransport } = await load("@modelcontextprotocol/server/stdio");
  const { NodeStreamableHTTPServerTransport } = await load("@modelcontextprotocol/node");
  return {
    ...{ Server, StdioServerTransport, HttpTransport: NodeStreamableHTTPServerTransport, McpError: ProtocolError },
    kind: (method) => method,
    talk: ({ mcpReq }) => ({
      signal: mcpReq.signal,
      token: mcpReq._meta?.progressToken,
      notify: (note) => mcpReq.notify(note),
      ask: (question) => mcpReq.send(question),
      log: ({ level, data, logger }) => mcpReq.log(level, data, logger),
    }),
  };
}

const sdk = await (line === "1" ? sdk1 : sdk2)();
const server = new sdk.Server(DATA.info, { capabilities: CAPABILITIES, instructions: DATA.instructions });
const handle = (method, handler) =>
  server.setRequestHandler(sdk.kind(method), (request, extra) => handler(request.params ?? {}, sdk.talk(extra)));

const tools = [...DATA.tools];
const subscribed = new Set();
let cancelled = 0;
let tellGivenUp;
const givenUp = new Promise((resolve) => (tellGivenUp = resolve));
const progress = (talk, params) =>
  talk.notify({ method: "notifications/progress", params: { progressToken: talk.token, ...params } });

const doing = {
  count: async (args, talk) => {
    for (const step of [1, 2, 3]) await progress(talk, { progress: step, total: 3, message: `step ${step} é🙂` });
    return "counted to 3";
  },
  tell: async (args, talk) => {
    for (const level of ["debug", "warning", "error"])
      await talk.log({ level, logger: "features", data: { text: `${level} é🙂` } });
    return "told";
  },
  wait: async (args, talk) => {
    await progress(talk, { progress: 1 });
    await new Promise((resolve) => talk.signal.addEventListener("abort", resolve));
    cancelled += 1;
    tellGivenUp();
    return "never";
  },
  cancellations: async () => {
    await givenUp;
    return `${cancelled}`;
  },
  grow: async () => {
    if (tools.at(-1) === DATA.grown) tools.pop();
    else tools.push(DATA.grown);
    await server.sendToolListChanged();
    await server.sendResourceListChanged();
    await server.sendPromptListChanged();
    return "done";
  },
  touch: async ({ uri }) => {
    if (subscribed.has(uri)) await server.sendResourceUpdated({ uri });
    return "touched";
  },
};

handle("tools/call", async ({ name, arguments: args }, talk) => {
  if (DATA.results[name]) return DATA.results[name];
  const question = DATA.questions[name];
  if (question === undefined) return { content: [{ type: "text", text: await doing[name](args, talk) }] };
  const answer = await talk.ask(question);
  if (name === "visit") await server.createElicitationCompletionNotifier("visit-7")();
  return { content: [], structuredContent: { answer } };
});

const list = (method, member, items) =>
  handle(method, ({ cursor }) => {
    const begin = Number(cursor ?? 0);
    const end = begin + DATA.page;
    return { [member]: items.slice(begin, end), ...(end < items.length && { nextCursor: `${end}` }) };
  });
list("tools/list", "tools", tools);
list("resources/list", "resources", DATA.resources);
list("resources/templates/list", "resourceTemplates", DATA.templates);
list("prompts/list", "prompts", DATA.prompts);
handle("resources/read", ({ uri }) => {
  if (!DATA.contents[uri]) throw new sdk.McpError(-32002, "Resource not found", { uri });
  return { contents: [DATA.contents[uri]] };
});
handle("resources/subscribe", ({ uri }) => (subscribed.add(uri), {}));
handle("resources/unsubscribe", ({ uri }) => (subscribed.delete(uri), {}));
handle("prompts/get", () => DATA.prompt);
handle("completion/complete", ({ argument, context }) => {
  const value = `${argument.value} ${argument.name} ${context?.arguments?.tone ?? ""}`.trim();
  return { completion: { values: [value], total: 7, hasMore: true } };
});

if (port === undefined) {
  await server.connect(new sdk.StdioServerTransport());
} else {
  const transport = new sdk.HttpTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  createServer((request, response) => transport.handleRequest(request, response)).listen(Number(port), "127.0.0.1");
}
