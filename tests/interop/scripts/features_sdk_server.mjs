// A server on the official TypeScript SDK that has each feature of the protocol once.
//
// `features_sdk_server.mjs LINE FOLDER ERA [PORT]`: LINE is 1 or 2, FOLDER holds `node_modules`, ERA is
// `legacy` or, on 2.x, `modern`; it serves stdio, or Streamable HTTP at `/mcp`. What it offers stands in
// `features.json`.

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
const [line, folder, era, port] = process.argv.slice(2);
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
      log: (params, server) => server.sendLoggingMessage(params, extra.sessionId),
    }),
  };
}

async function sdk2() {
  const { Server, ProtocolError, createMcpHandler, inputRequired } = await load("@modelcontextprotocol/server");
  const { StdioServerTransport, serveStdio } = await load("@modelcontextprotocol/server/stdio");
  const { NodeStreamableHTTPServerTransport, toNodeHandler } = await load("@modelcontextprotocol/node");
  return {
    ...{ createMcpHandler, inputRequired, serveStdio, toNodeHandler },
    ...{ Server, StdioServerTransport, HttpTransport: NodeStreamableHTTPServerTransport, McpError: ProtocolError },
    kind: (method) => method,
    talk: ({ mcpReq }) => ({
      signal: mcpReq.signal,
      token: mcpReq._meta?.progressToken,
      notify: (note) => mcpReq.notify(note),
      ask: (question) => mcpReq.send(question),
      log: ({ level, data, logger }) => mcpReq.log(level, data, logger),
      answers: mcpReq.inputResponses ?? {},
    }),
  };
}

const sdk = await (line === "1" ? sdk1 : sdk2)();
const modern = era === "modern";
const handlers = [];
const handle = (method, handler) => handlers.push([method, handler]);
// In the stateless era over HTTP, each request has a server of its own.
function makeServer() {
  const server = new sdk.Server(DATA.info, { capabilities: CAPABILITIES, instructions: DATA.instructions });
  for (const [method, handler] of handlers)
    server.setRequestHandler(sdk.kind(method), (request, extra) =>
      handler(request.params ?? {}, sdk.talk(extra), server));
  return server;
}
// Who tells those who listen, where it is not the server of the request.
let notifier;

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
  tell: async (args, talk, server) => {
    for (const level of ["debug", "warning", "error"])
      await talk.log({ level, logger: "features", data: { text: `${level} é🙂` } }, server);
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
  grow: async (args, talk, server) => {
    if (tools.at(-1) === DATA.grown) tools.pop();
    else tools.push(DATA.grown);
    await (notifier ? notifier.toolsChanged() : server.sendToolListChanged());
    await (notifier ? notifier.resourcesChanged() : server.sendResourceListChanged());
    await (notifier ? notifier.promptsChanged() : server.sendPromptListChanged());
    return "done";
  },
  touch: async ({ uri }, talk, server) => {
    if (notifier) notifier.resourceUpdated(uri);
    else if (modern || subscribed.has(uri)) await server.sendResourceUpdated({ uri });
    return "touched";
  },
};

handle("tools/call", async ({ name, arguments: args }, talk, server) => {
  if (DATA.results[name]) return DATA.results[name];
  const question = DATA.questions[name];
  if (question === undefined) return { content: [{ type: "text", text: await doing[name](args, talk, server) }] };
  if (modern) {
    if (talk.answers.it) return { content: [], structuredContent: { answer: talk.answers.it } };
    const { elicitationId, ...params } = question.params ?? {};
    return sdk.inputRequired({ inputRequests: { it: { method: question.method, params } }, requestState: "asked" });
  }
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

let answer;
if (modern && port !== undefined) {
  const handler = sdk.createMcpHandler(makeServer);
  notifier = handler.notify;
  answer = sdk.toNodeHandler(handler);
} else if (modern) {
  sdk.serveStdio(makeServer);
} else {
  const sessions = { sessionIdGenerator: randomUUID };
  const transport = port === undefined ? new sdk.StdioServerTransport() : new sdk.HttpTransport(sessions);
  await makeServer().connect(transport);
  answer = (request, response) => transport.handleRequest(request, response);
}
if (port !== undefined) createServer(answer).listen(Number(port), "127.0.0.1");
