// One session of an SDK's client with boardhand, the same for both SDKs, and
// what it saw: see outcome in the Go test, which reads it from standard output.
//
// A side is how an SDK does things:
//
//	connect(argv, complain) -> client, connected; complain is told what it finds wrong
//	version(client)         -> the revision of MCP that it speaks
//	call(client, params, options) -> a tool's result

export async function session(side, calm, jammed) {
  const seen = { errors: [], progress: [] };
  // The SDKs lose a report of progress that comes in one read with the answer, and
  // complain; the check of progress sees whether any came through.
  const lost = (e) => /progress notification for an unknown token/.test(e?.message);
  // Version 1 complains of the stream that it closes itself.
  const closed = (e) => /SSE stream disconnected: AbortError/.test(e?.message);
  const complain = (e) => lost(e) || closed(e) || seen.errors.push(String(e?.stack ?? e));
  await withClient(side, calm, complain, (c) => work(side, c, seen));
  await withClient(side, jammed, complain, (c) => cancel(side, c, seen));
  console.log(JSON.stringify(seen));
}

async function withClient(side, argv, complain, use) {
  const client = await side.connect(argv, complain);
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

async function work(side, client, seen) {
  const call = (name, args, options) => side.call(client, { name, arguments: args }, options);
  const level = async () => (await call("gpio_read", { lines: ["GPIO27"] })).structuredContent.lines[0].level;

  seen.server = client.getServerVersion().name;
  seen.version = side.version(client);
  seen.instructions = client.getInstructions();
  seen.tools = (await client.listTools()).tools.map((t) => t.name);
  seen.resources = (await client.listResources()).resources.map((r) => r.uri);
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
  seen.prompts = (await client.listPrompts()).prompts.map((p) => p.name);

  seen.before = await level();
  await call("gpio_write", { line: "GPIO17", level: 1 });
  seen.after = await level();
  const unknown = await call("gpio_read", { lines: ["GPIO99"] });
  seen.refused = unknown.isError ? unknown.content[0].text : "no error";

  seen.board = (await client.readResource({ uri: "board://info" })).contents[0].text;
  seen.line = (await client.readResource({ uri: "gpio://GPIO17" })).contents[0].text;
  seen.absent = await client.readResource({ uri: "gpio://GPIO99" }).then(() => "no error", (e) => e.message);
  seen.prompt = (await client.getPrompt({ name: "check_wiring", arguments: { line: "GPIO17" } })).messages[0].content.text;
  seen.completion = (
    await client.complete({ ref: { type: "ref/resource", uri: "gpio://{line}" }, argument: { name: "line", value: "GPIO1" } })
  ).completion.values;

  const scan = await call("i2c_scan", {}, { onprogress: (p) => seen.progress.push(p.progress / p.total) });
  seen.found = scan.structuredContent.found.map((f) => f.address);
}

async function cancel(side, client, seen) {
  const stop = new AbortController();
  const params = { name: "i2c_read", arguments: { address: "0x76" } };
  const jammed = side
    .call(client, params, { signal: stop.signal })
    .then(() => "no error", (e) => `${e.name}: ${e.message}`);
  seen.meanwhile = (await client.listTools()).tools.length;
  await side.call(client, { name: "gpio_read", arguments: { lines: ["GPIO27"] } });
  stop.abort("no longer wanted");
  seen.jammed = await jammed;
  seen.next = (await side.call(client, params)).content[0].text;
}
