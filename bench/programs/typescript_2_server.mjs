// An echo server of the TypeScript SDK 2.x: `typescript_2_server.mjs stdio`, `… http PORT json|stream ERA`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const folder = process.env.NODE_MODULES;
const load = (name) => import(pathToFileURL(`${folder}/@modelcontextprotocol/${name}`).href);
const { McpServer, createMcpHandler } = await load('server/dist/index.mjs');
const { z } = createRequire(`${folder}/x.js`)('zod');
const [, , wire, port, reply, era] = process.argv;

const content = (text) => ({ content: [{ type: 'text', text }] });
const make = () => {
  const server = new McpServer({ name: 'echo', version: '1' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, async ({ text }, context) => {
    if (reply === 'stream') {
      const params = { progressToken: context.mcpReq._meta.progressToken, progress: 1 };
      await context.mcpReq.notify({ method: 'notifications/progress', params });
    }
    return content(text);
  });
  const shape = z.object({ length: z.number() });
  server.registerTool('text', { inputSchema: shape }, async ({ length }) => content('x'.repeat(length)));
  return server;
};

if (wire === 'stdio') {
  const { serveStdio } = await load('server/dist/stdio.mjs');
  serveStdio(make);
} else {
  const { NodeStreamableHTTPServerTransport, toNodeHandler } = await load('node/dist/index.mjs');
  if (era === 'modern') {
    const handler = createMcpHandler(make, { responseMode: reply === 'json' ? 'json' : 'auto' });
    createServer(toNodeHandler(handler)).listen(+port, '127.0.0.1');
  } else {
    const sessions = new Map();
    createServer(async (request, response) => {
      let transport = sessions.get(request.headers['mcp-session-id']);
      if (!transport) {
        transport = new NodeStreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          enableJsonResponse: reply === 'json',
          onsessioninitialized: (id) => { sessions.set(id, transport); },
        });
        await make().connect(transport);
      }
      await transport.handleRequest(request, response);
    }).listen(+port, '127.0.0.1');
  }
}
