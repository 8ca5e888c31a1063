// A small MCP server on vscode-jsonrpc: `node header_server.mjs PEERS`.
//
// Speaks in Content-Length frames, writes what is not ASCII as raw UTF-8, and ends with its input.
// PEERS is the folder with node_modules.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.argv[2], 'package.json'));
const rpc = require('vscode-jsonrpc/node');

const echo = {
  name: 'echo',
  description: 'Give the text back. é🙂',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout),
);
connection.onRequest('initialize', ({ protocolVersion }) => ({
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo: { name: 'header-server', version: '1' },
}));
connection.onRequest('ping', () => ({}));
connection.onRequest('tools/list', () => ({ tools: [echo] }));
connection.onRequest('tools/call', (params) => {
  if (params.name !== 'echo') throw new rpc.ResponseError(-32602, `Unknown tool: ${params.name}`);
  return { content: [{ type: 'text', text: params.arguments.text }] };
});
connection.onNotification('notifications/initialized', () => {});
connection.onClose(() => process.exit(0));
process.stdin.on('end', () => process.exit(0));
connection.listen();
