// The official TypeScript SDKs, 1.x and 2.x, under one set of names, for `features_client.mjs`.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const CAPABILITIES = { sampling: { tools: {} }, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

// Loads modules from the folder that holds `node_modules`.
export function loader(folder) {
  const require = createRequire(pathToFileURL(`${folder}/`));
  const loadModule = (name) => import(pathToFileURL(require.resolve(name)));
  // What resolves for `require` is the CommonJS half of the 2.x packages; both halves work.
  return async (name) => {
    const module = await loadModule(name);
    return module.Client || module.Server || !module.default ? module : { ...module.default, ...module };
  };
}

// What the server told by itself.
export class Heard {
  notes = [];
  #news = () => {};

  hear(note) {
    const { _meta, ...params } = note.params ?? {};
    this.notes.push([note.method, params]);
    this.#news();
  }

  // Wait until enough was told; take it all.
  async until(enough) {
    while (!enough(this.notes)) await new Promise((resolve) => (this.#news = resolve));
    return this.notes.splice(0);
  }
}

async function tools1(load) {
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const types = await load("@modelcontextprotocol/sdk/types.js");
  const kinds = {
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
  };
  return { Client, StdioClientTransport, StreamableHTTPClientTransport, kind: (method) => kinds[method] };
}

async function tools2(load) {
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  return { Client, StdioClientTransport, StreamableHTTPClientTransport, kind: (method) => method };
}

// A client of a command or a URL. `mode` is `legacy`, or `auto`, with which 2.x finds the stateless era.
export async function connect(line, mode, folder, command, roots) {
  const sdk = await (line === "1" ? tools1 : tools2)(loader(folder));
  const options = { capabilities: CAPABILITIES };
  if (mode !== "legacy") options.versionNegotiation = { mode };
  const client = new sdk.Client({ name: "features-client", version: "7" }, options);
  const peer = { client, line, heard: new Heard(), asked: [], roots, meta: undefined };
  client.fallbackNotificationHandler = async (note) => peer.heard.hear(note);
  const answer = (method, reply) =>
    client.setRequestHandler(sdk.kind(method), async (request) => {
      if (method !== "roots/list") peer.asked.push(request.params);
      return reply();
    });
  answer("sampling/createMessage", () => peer.model);
  answer("elicitation/create", () => peer.user);
  answer("roots/list", () => ({ roots: peer.roots }));
  // 1.x takes a schema of the result between the params and the options.
  peer.call = (name, args = {}, options = {}) => {
    const params = { name, arguments: args, ...(peer.meta && { _meta: peer.meta }) };
    return line === "1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
  };
  // 1.x gives page by page, 2.x all pages at once.
  peer.pages = async (method, member) => {
    if (line !== "1") return { items: (await client[method]())[member] };
    const items = [];
    let cursor, pages = 0;
    do {
      const page = await client[method]({ cursor });
      items.push(...page[member]);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    return { pages, items };
  };
  const isUrl = command[0].startsWith("http");
  const [program, ...args] = command;
  peer.transport = isUrl
    ? new sdk.StreamableHTTPClientTransport(new URL(program))
    : new sdk.StdioClientTransport({ command: program, args, env: process.env });
  await client.connect(peer.transport);
  const revision = client.getNegotiatedProtocolVersion?.() ?? peer.transport.protocolVersion;
  peer.stateless = client.getProtocolEra?.() === "modern";
  // Ask for log messages: once for all, or in the stateless era with each request.
  peer.wantLog = async (level) => {
    if (peer.stateless) peer.meta = { "io.modelcontextprotocol/logLevel": level };
    else await client.setLoggingLevel(level);
  };
  // Be told of a resource, or of lists, until what it returns is called.
  peer.listen = async (uri) => {
    if (peer.stateless) {
      const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      const subscription = await client.listen(uri ? { resourceSubscriptions: [uri] } : lists);
      return () => subscription.close();
    }
    if (!uri) return async () => {};
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  };
  peer.shaken = {
    ...(revision && { protocolVersion: revision }), // 1.x on stdio does not tell
    serverInfo: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  };
  return peer;
}
