// vscode-jsonrpc, the JSON-RPC of language servers: Content-Length framing. The
// second argument is what to speak over it: a revision of MCP that has
// initialize, or 1.0 for the Content-Length MCP.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createMessageConnection,
  ParameterStructures,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";

const [calm, jammed] = JSON.parse(process.argv[2]);
const version = process.argv[3];
const seen = { errors: [], progress: [] };

// Writer remembers the id of the last request, which the connection keeps to itself.
class Writer extends StreamMessageWriter {
  write(message) {
    if (message.id !== undefined) this.lastID = message.id;
    return super.write(message);
  }
}

async function connected([command, ...args], use) {
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exit = once(server, "exit");
  const writer = new Writer(server.stdin);
  const c = createMessageConnection(new StreamMessageReader(server.stdout), writer);
  const complain = (what) => seen.errors.push(String(what));
  c.onError(([e]) => complain(e));
  c.onUnhandledNotification((n) => complain(`not expected: ${n.method}`));
  c.listen();
  const request = (method, params) => c.sendRequest(method, ParameterStructures.byName, params);
  const notify = (method, params) => c.sendNotification(method, ParameterStructures.byName, params);
  await use({ connection: c, request, notify, lastID: () => writer.lastID });
  server.stdin.end();
  await exit;
}

// refused tells the error that a request ends with.
const refused = (promise) =>
  promise.then(
    () => "no error",
    (e) => [e.code, e.message, ...(typeof e.data === "string" ? [e.data] : [])].join(": "),
  );

async function initialize({ request, notify }) {
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "vscode-jsonrpc", version: "1.0.0" } };
  const result = await request("initialize", params);
  await notify("notifications/initialized", {});
  return result;
}

async function mcp(server) {
  const { connection, request } = server;
  const call = (name, args, meta) => request("tools/call", { name, arguments: args, _meta: meta });
  const level = async () => (await call("gpio_read", { lines: ["GPIO27"] })).structuredContent.lines[0].level;
  const read = async (uri) => (await request("resources/read", { uri })).contents[0].text;

  const hello = await initialize(server);
  seen.server = hello.serverInfo.name;
  seen.version = hello.protocolVersion;
  seen.instructions = hello.instructions;
  seen.tools = (await request("tools/list", {})).tools.map((t) => t.name);
  seen.resources = (await request("resources/list", {})).resources.map((r) => r.uri);
  seen.templates = (await request("resources/templates/list", {})).resourceTemplates.map((t) => t.uriTemplate);
  seen.prompts = (await request("prompts/list", {})).prompts.map((p) => p.name);

  seen.before = await level();
  await call("gpio_write", { line: "GPIO17", level: 1 });
  seen.after = await level();
  const unknown = await call("gpio_read", { lines: ["GPIO99"] });
  seen.refused = unknown.isError ? unknown.content[0].text : "no error";

  seen.board = await read("board://info");
  seen.line = await read("gpio://GPIO17");
  seen.absent = await refused(read("gpio://GPIO99"));
  const prompt = await request("prompts/get", { name: "check_wiring", arguments: { line: "GPIO17" } });
  seen.prompt = prompt.messages[0].content.text;
  const ref = { type: "ref/resource", uri: "gpio://{line}" };
  const completed = await request("completion/complete", { ref, argument: { name: "line", value: "GPIO1" } });
  seen.completion = completed.completion.values;

  connection.onNotification("notifications/progress", (p) => {
    if (p.progressToken === "scan") seen.progress.push(p.progress / p.total);
  });
  const scan = await call("i2c_scan", {}, { progressToken: "scan" });
  seen.found = scan.structuredContent.found.map((f) => f.address);
}

async function mcpCancel(server) {
  const { request, notify, lastID } = server;
  await initialize(server);
  const call = (name, args) => request("tools/call", { name, arguments: args });
  seen.jammed = "cancelled";
  call("i2c_read", { address: "0x76" }).then(
    () => (seen.jammed = "answered"),
    (e) => (seen.jammed = `answered: ${e.message}`),
  );
  const requestId = lastID();
  seen.meanwhile = (await request("tools/list", {})).tools.length;
  await notify("notifications/cancelled", { requestId });
  seen.next = (await call("i2c_read", { address: "0x76" })).content[0].text; // an answer to the first would come before
}

async function initializeV1({ request, notify }) {
  const { capabilities } = await request("initialize", { clientCapabilities: {} });
  await notify("initialized", {});
  return capabilities;
}

const toolID = (name) => `mcp://boardhand/tools/${name}:v1`;

async function v1(server) {
  const { request } = server;
  const call = async (name, args) => (await request("mcp/executeTool", { id: toolID(name), arguments: args })).output;
  const level = async () => (await call("gpio_read", { lines: ["GPIO27"] })).lines[0].level;

  const can = await initializeV1(server);
  seen.capabilities = can;
  const tools = await request("mcp/listTools", {});
  seen.tools = tools.map((t) => t.mcpId.replace(/^.*\/|:v1$/g, ""));
  const resources = await request("mcp/listResources", {});
  seen.resources = resources.map((r) => r.mcpId);
  seen.board = resources[0].content;
  const prompts = await request("mcp/listPrompts", {});
  seen.prompts = prompts.map((p) => p.mcpId.replace(/^.*\/|:v1$/g, ""));
  seen.prompt = prompts[1].content;

  seen.before = await level();
  await call("gpio_write", { line: "GPIO17", level: 1 });
  seen.after = await level();
  seen.refused = await refused(call("gpio_read", { lines: ["GPIO99"] }));
  seen.absent = await refused(call("gpio_erase", {}));
  seen.found = (await call("i2c_scan", {})).found.map((f) => f.address);
}

// This protocol has no cancellation.
async function v1Wait(server) {
  const { request } = server;
  await initializeV1(server);
  const jammed = refused(request("mcp/executeTool", { id: toolID("i2c_read"), arguments: { address: "0x76" } }));
  seen.meanwhile = (await request("mcp/listTools", {})).length;
  seen.next = await jammed;
}

const [work, wait] = version === "1.0" ? [v1, v1Wait] : [mcp, mcpCancel];
await connected(calm, work);
await connected(jammed, wait);
console.log(JSON.stringify(seen));
