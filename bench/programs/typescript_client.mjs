// A client of the TypeScript SDK under load: `typescript_client.mjs 1|2 TARGET ERA SECONDS`.
import { pathToFileURL } from 'node:url';

const load = (name) => import(pathToFileURL(`${process.env.NODE_MODULES}/@modelcontextprotocol/${name}`).href);
const [, , major, target, era, given] = process.argv;
const seconds = +given;
const newer = major === '2';
const text = 'x'.repeat(100);

const { Client } = await load(newer ? 'client/dist/index.mjs' : 'sdk/dist/esm/client/index.js');
const { StdioClientTransport } = await load(newer ? 'client/dist/stdio.mjs' : 'sdk/dist/esm/client/stdio.js');
const { StreamableHTTPClientTransport } = await load(
  newer ? 'client/dist/index.mjs' : 'sdk/dist/esm/client/streamableHttp.js');

const options = era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
const client = new Client({ name: 'bench', version: '1' }, options);
const [command, ...args] = target.split(' ');
await client.connect(target.startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport({ command, args }));

const call = async () => {
  const result = await client.callTool({ name: 'echo', arguments: { text } });
  if (result.content[0].text !== text) throw new Error('a wrong answer came');
};
const clock = () => Number(process.hrtime.bigint()) / 1e9;
const cpu = () => { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; };
const together = async (end) => {
  let done = 0;
  const work = async () => { while (clock() < end) { await call(); done += 1; } };
  await Promise.all(Array.from({ length: 64 }, work));
  return done;
};

for (let i = 0; i < 10; i++) await call();
const took = [];
for (const end = clock() + seconds / 2; clock() < end;) {
  const began = clock();
  await call();
  took.push(clock() - began);
}
await together(clock() + seconds / 5);
const began = clock();
const before = cpu();
const done = await together(began + seconds);
const wall = clock() - began;
const used = cpu() - before;
took.sort((one, other) => one - other);
console.log(JSON.stringify({
  serial_us: took[Math.floor(took.length / 2)] * 1e6, rate: done / wall, cpu_us: used / done * 1e6 }));
await client.close();
process.exit(0);
