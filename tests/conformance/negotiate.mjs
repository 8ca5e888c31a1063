// Makes the suite speak the revision that CONFORMANCE_WIRE names.
//
// The suite talks through the TypeScript SDK, which always offers its own newest revision, and
// `--spec-version` changes nothing about that: it only picks the schema. Loaded with
// `node --import`, this puts another newest revision into the SDK, so that the handshake and all
// headers are those of an older conversation.
import { registerHooks } from 'node:module';

const revision = process.env.CONFORMANCE_WIRE;
const TYPES = /@modelcontextprotocol\/sdk\/dist\/esm\/types\.js$/;
const NEWEST = /LATEST_PROTOCOL_VERSION = '[^']+'/;
let done = false;

registerHooks({
  load(url, context, next) {
    const module = next(url, context);
    if (!TYPES.test(url)) return module;
    const source = Buffer.from(module.source).toString('utf8');
    if (!NEWEST.test(source)) throw new Error(`negotiate.mjs: no newest revision in ${url}`);
    done = true;
    return { ...module, source: source.replace(NEWEST, `LATEST_PROTOCOL_VERSION = '${revision}'`) };
  },
});

// Without this, a suite that keeps its SDK elsewhere would pass in a revision that nobody spoke.
process.on('exit', () => {
  if (done) return;
  console.error('negotiate.mjs: the SDK was not found, so its revision is its own');
  process.exitCode = 1;
});
