// A client on vscode-jsonrpc: `node framed_client.mjs PEERS TOOL ARGUMENT PREFIX -- COMMAND…`.
//
// Starts the command as a server that speaks in Content-Length frames and talks MCP with it: the
// handshake, the list of tools, and calls of TOOL, which gives its ARGUMENT back behind PREFIX.
// PEERS is the folder with node_modules. Prints one JSON object: for each step what it gave or how
// it failed, what reached the wire outside of that, and how the server ended when its input closed.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [peers, tool, argument, prefix, dashes, command, ...args] = process.argv.slice(2);
if (dashes !== '--') throw new Error('usage: framed_client.mjs PEERS TOOL ARGUMENT PREFIX -- COMMAND…');

const require = createRequire(join(peers, 'package.json'));
const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = require('vscode-jsonrpc/node');

const STEP_WITHIN = 60_000;
const EXIT_WITHIN = 8_000;
const EMOJI = 'é🙂';

const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
const report = { steps: {}, wireErrors: [], notifications: [], ascii: true, stderr: '' };

child.stdout.on('data', (chunk) => {
  if (report.ascii) report.ascii = chunk.every((byte) => byte < 0x80);
});
child.stderr.on('data', (chunk) => {
  report.stderr = (report.stderr + chunk).slice(-4000);
});
const exited = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));

const reader = new StreamMessageReader(child.stdout);
const writer = new StreamMessageWriter(child.stdin);
reader.onError((error) => report.wireErrors.push(String(error)));
writer.onError(([error]) => report.wireErrors.push(String(error)));
const connection = createMessageConnection(reader, writer);
connection.onUnhandledNotification(({ method }) => report.notifications.push(method));
connection.listen();

function within(milliseconds, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function step(name, work) {
  try {
    report.steps[name] = { gave: await within(STEP_WITHIN, work(), name) };
  } catch (error) {
    report.steps[name] = { failed: String(error), code: error.code };
  }
}

async function echo(text) {
  const result = await connection.sendRequest('tools/call', { name: tool, arguments: { [argument]: text } });
  return result.content[0].text;
}

function big() {
  const piece = `0123456789 abcdefghijklmnopqrstuvwxyz "\\\n\t/ ${EMOJI} `;
  return piece.repeat(Math.ceil((5 * 1024 * 1024) / Buffer.byteLength(piece)));
}

await step('initialize', () =>
  connection.sendRequest('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'framed-client', version: '1' },
  }),
);
await step('initialized', () => connection.sendNotification('notifications/initialized'));
await step('tools', async () => (await connection.sendRequest('tools/list', {})).tools);
await step('echo', () => echo(EMOJI));
await step('bigEcho', async () => {
  const text = big();
  const back = await echo(text);
  return { equal: back === prefix + text, bytes: Buffer.byteLength(text) };
});
await step('many', async () => {
  const texts = Array.from({ length: 32 }, (_, index) => `${index} ${EMOJI}`);
  const back = await Promise.all(texts.map(echo));
  return { equal: back.every((text, index) => text === prefix + texts[index]), count: back.length };
});
await step('unknownMethod', () => connection.sendRequest('interop/unknown', {}));

const began = performance.now();
connection.end();
const ended = await within(EXIT_WITHIN, exited, 'the exit').catch((error) => ({ failed: String(error) }));
report.exit = { ...ended, seconds: (performance.now() - began) / 1000 };
child.kill('SIGKILL');
connection.dispose();
process.stdout.write(JSON.stringify(report), () => process.exit(0));
