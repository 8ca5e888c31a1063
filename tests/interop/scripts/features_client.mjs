// A client on the official TypeScript SDK that uses each feature of `features_server.py` once.
//
// `features_client.mjs LINE FOLDER MODE COMMAND…`: LINE is 1 or 2, FOLDER holds `node_modules`; the rest
// and what is printed are as in `features_client.py`.

import { connect } from "./features_peer.mjs";

const STEP_WITHIN = 10_000;
const ROOTS = [{ uri: "file:///home/a%20b", name: "a b" }, { uri: "file:///tmp" }];
const [line, folder, mode, ...command] = process.argv.slice(2);
const peer = await connect(line, mode, folder, command, ROOTS);
const { client, heard } = peer;

const refused = async (doing) => {
  try {
    return await doing;
  } catch (error) {
    if (error.code === undefined) throw error;
    return { code: error.code, ...(error.data !== undefined && { data: error.data }) };
  }
};
const asked = async (tool) => {
  const answer = await peer.call(tool);
  return { asked: peer.asked.splice(0), answer };
};
const told = (method) => (notes) => notes.some(([name]) => name === method);

const steps = {
  handshake: async () => peer.shaken,
  tools: () => peer.pages("listTools", "tools"),
  weather: () => peer.call("weather", { city: "Orléans" }),
  numbers: () => peer.call("numbers"),
  blocks: () => peer.call("blocks"),
  fail: () => peer.call("fail", { reason: "no luck é🙂" }),
  bad_arguments: () => peer.call("fail", { reason: 7 }),
  unknown_tool: () => refused(peer.call("no-such-tool")),
  resources: () => peer.pages("listResources", "resources"),
  templates: () => peer.pages("listResourceTemplates", "resourceTemplates"),
  read: async () => {
    const uris = ["memo://today", "memo://pixel", "memo://of/ada/monday"];
    return await Promise.all(uris.map((uri) => client.readResource({ uri })));
  },
  read_missing: () => refused(client.readResource({ uri: "memo://missing" })),
  // Updates come while there is a subscription, and only of what it is of.
  subscribe: async () => {
    const stop = await peer.listen("memo://today");
    await peer.call("touch", { uri: "memo://pixel" });
    await peer.call("touch", { uri: "memo://today" });
    const first = await heard.until(told("notifications/resources/updated"));
    await stop();
    await peer.call("touch", { uri: "memo://today" });
    await peer.call("numbers");
    return { told: first, after: await heard.until(() => true) };
  },
  prompts: () => peer.pages("listPrompts", "prompts"),
  prompt: () => client.getPrompt({ name: "greet", arguments: { name: "Ada", tone: "cool" } }),
  completion: async () => {
    const greet = { type: "ref/prompt", name: "greet" };
    const template = { type: "ref/resource", uri: "memo://of/{person}/{day}" };
    const context = { arguments: { tone: "cool" } };
    return {
      name: await client.complete({ ref: greet, argument: { name: "name", value: "A" } }),
      known: await client.complete({ ref: greet, argument: { name: "name", value: "A" }, context }),
      tone: await client.complete({ ref: greet, argument: { name: "tone", value: "w" } }),
      day: await client.complete({ ref: template, argument: { name: "day", value: "d" } }),
    };
  },
  // Only messages of the level that was asked for come.
  log: async () => {
    const gave = {};
    for (const level of ["warning", "debug"]) {
      await peer.wantLog(level);
      await peer.call("tell");
      const notes = await heard.until((all) => all.some(([, params]) => params.level === "error"));
      gave[level] = notes.map(([, params]) => params);
    }
    return gave;
  },
  // All three lists change at run time.
  grow: async () => {
    const gave = {};
    for (const what of ["grown", "shrunk"]) {
      const stop = await peer.listen();
      await peer.call("grow");
      const notes = await heard.until((all) => new Set(all.map(([name]) => name)).size >= 3);
      await stop();
      const { items } = await peer.pages("listTools", "tools");
      gave[what] = [[...new Set(notes.map(([name]) => name))].sort(), items.some(({ name }) => name === "grown")];
    }
    return gave;
  },
  roots: async () => {
    const before = await peer.call("folders");
    peer.roots = ROOTS.slice(1);
    if (!peer.stateless) await client.sendRootsListChanged();
    return [before.structuredContent, (await peer.call("folders")).structuredContent];
  },
  sample: async () => {
    const content = { type: "text", text: "A pixel é🙂" };
    peer.model = { role: "assistant", content, model: "m", stopReason: "endTurn" };
    return await asked("sample");
  },
  sample_with_tools: async () => {
    const content = [
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "u1", name: "weather", input: { city: "Orléans" } },
    ];
    peer.model = { role: "assistant", content, model: "m", stopReason: "toolUse" };
    return await asked("sample_with_tools");
  },
  form: async () => {
    const content = { name: "Ada", size: "small", count: 3, price: 1.5, gift: false, extras: ["cheese"] };
    peer.user = { action: "accept", content };
    return await asked("form");
  },
  form_declined: async () => {
    peer.user = { action: "decline" };
    return await asked("form");
  },
  visit: async () => {
    peer.user = { action: "accept" };
    const gave = await asked("visit");
    return { ...gave, told: peer.stateless ? [] : await heard.until((notes) => notes.length > 0) };
  },
  progress: async () => {
    const seen = [];
    let done;
    const complete = new Promise((resolve) => (done = resolve));
    const onprogress = ({ progress, total, message }) => {
      seen.push([progress, total, message]);
      if (seen.length === 3) done();
    };
    const answer = await peer.call("count", { steps: 3 }, { onprogress });
    if (!answer.isError) await Promise.race([complete, new Promise((resolve) => setImmediate(resolve))]);
    return { seen, answer };
  },
  // Give up a call once it has begun.
  cancel: async () => {
    const giving = new AbortController();
    const onprogress = () => giving.abort("changed my mind");
    await peer.call("wait", {}, { onprogress, signal: giving.signal }).catch(() => {});
    return await peer.call("cancellations");
  },
  ping: async () => (peer.stateless ? null : await client.ping()),
  ping_back: async () => (peer.stateless ? null : await peer.call("ping_back")),
};

for (const [name, step] of Object.entries(steps)) {
  heard.notes.length = 0;
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing more in time; heard ${JSON.stringify(heard.notes)}`)), STEP_WITHIN);
  });
  let outcome;
  try {
    outcome = { gave: await Promise.race([step(), late]) };
  } catch (error) {
    outcome = { failed: `${error?.name}: ${error?.message}` };
  }
  clearTimeout(timer);
  console.log(JSON.stringify({ step: name, ...outcome }));
}
await peer.transport.terminateSession?.();
await client.close();
