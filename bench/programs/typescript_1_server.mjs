// An echo server of the TypeScript SDK 1.x: `typescript_1_server.mjs stdio`, `… http PORT json|stream`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const folder = process.env.NODE_MODULES;
const load = (name) => import(pathToFileURL(`${folder}/@modelcontextprotocol/sdk/dist/esm/${name}`).href);
const { McpServer } = await load('server/mcp.js');
const { z } = createRequire(`${folder}/x.js`)('zod');
const [, , wire, port, reply] = process.argv;

const content = (text) => ({ content: [{ type: 'text', text }] });
const make = () => {
  const server = new McpServer({ name: 'echo', version: '1' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }, extra) => {
    if (reply === 'stream') {
      const params = { progressToken: extra._meta.progressToken, progress: 1 };
      await extra.sendNotification({ method: 'notifications/progress', params });
    }
    return content(text);
  });
  server.registerTool('text', { inputSchema: { length: z.number() } }, async ({ length }) => content('x'.repeat(length)));
  return server;
};

if (wire === 'stdio') {
  const { StdioServerTransport } = await load('server/stdio.js');
  await make().connect(new StdioServerTransport());
} else {
  const { StreamableHTTPServerTransport } = await load('server/streamableHttp.js');
  const sessions = new Map();
  createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: reply === 'json',
        onsessioninitialized: (id) => { sessions.set(id, transport); },
      });
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  }).listen(+port, '127.0.0.1');
}
