// An SDK's client is let in by a board, loses its rights and gets them back. The first
// argument is a JSON object: argv of the server, the file of its tokens, sdk and mode,
// and the browser's program, or "". It prints what happened; see admission in the Go test.
import { execFileSync } from "node:child_process";
import { Board, Callback, withBrowser, withoutBrowser } from "./board.mjs";

const { argv, tokens, sdk, mode, browser } = JSON.parse(process.argv[2]);
const v1 = sdk === "v1";
const { Client } = await import(v1 ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StreamableHTTPClientTransport } = await import(v1 ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");

const board = new Board(argv, tokens);
const callback = new Callback();
const seen = { secrets: {}, steps: [] };

// Keeper is what an application gives the SDK: it keeps what the SDK learns.
class Keeper {
  constructor() {
    this.kept = {};
  }
  get redirectUrl() {
    return callback.url;
  }
  get clientMetadata() {
    return { client_name: `TypeScript SDK ${sdk}`, redirect_uris: [callback.url], grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none" };
  }
  state() {
    return (this.kept.state = crypto.randomUUID());
  }
  clientInformation() {
    return this.kept.client;
  }
  saveClientInformation(client) {
    this.kept.client = client;
  }
  tokens() {
    return this.kept.tokens;
  }
  saveTokens(given) {
    this.kept.tokens = given;
    const n = Object.keys(seen.secrets).length;
    seen.secrets[`access token ${n}`] = given.access_token;
    seen.secrets[`refresh token ${n}`] = given.refresh_token;
  }
  redirectToAuthorization(url) {
    this.kept.url = url;
  }
  saveCodeVerifier(verifier) {
    this.kept.verifier = verifier;
    seen.secrets[`verifier ${Object.keys(seen.secrets).length}`] = verifier;
  }
  codeVerifier() {
    return this.kept.verifier;
  }
  discoveryState() {
    return this.kept.discovery;
  }
  saveDiscoveryState(found) {
    this.kept.discovery = found;
  }
  invalidateCredentials(what) {
    if (what === "all" || what === "tokens") delete this.kept.tokens;
    if (what === "all" || what === "client") delete this.kept.client;
    if (what === "all" || what === "verifier") delete this.kept.verifier;
    if (what === "all" || what === "discovery") delete this.kept.discovery;
  }
}

const keeper = new Keeper();

// attempt connects and runs use; where the SDK wants the person first it gives the
// transport that is to be told the answer.
async function attempt(use) {
  const options = v1 ? {} : { versionNegotiation: { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } } };
  const client = new Client({ name: `typescript-${sdk}`, version: "1.0.0" }, options);
  const transport = new StreamableHTTPClientTransport(new URL(board.url), { authProvider: keeper });
  delete keeper.kept.url;
  try {
    await client.connect(transport);
    const got = await use(client);
    return { got };
  } catch (error) {
    return keeper.kept.url ? { transport, error } : { error };
  } finally {
    await client.close().catch(() => {});
  }
}

// admit lets the person approve what the last attempt wanted.
async function admit(transport, choice) {
  const url = keeper.kept.url;
  const answer = callback.next();
  await person.approve(url, board.nextCode(), choice);
  const params = await answer;
  if (params.get("state") !== keeper.kept.state || params.get("iss") !== new URL(board.url).origin) throw new Error(`answer ${params}`);
  seen.secrets[`code ${Object.keys(seen.secrets).length}`] = params.get("code");
  await transport.finishAuth(v1 ? params.get("code") : params);
  return { resource: url.searchParams.get("resource"), scope: url.searchParams.get("scope"), method: url.searchParams.get("code_challenge_method") };
}

const call = (client, name, args) => (v1 ? client.callTool({ name, arguments: args }) : client.callTool({ name, arguments: args }));
const look = async (client) => (await call(client, "gpio_read", { lines: ["GPIO17"] })).structuredContent.lines[0].level;
const write = async (client) => (await call(client, "gpio_write", { line: "GPIO17", level: 1 })).structuredContent.level;
const step = (name, what) => seen.steps.push({ name, what: JSON.stringify(what) });
const told = ({ got, error, transport }) => (transport ? "asks the person" : error ? `${error.name}: ${error.message}` : got);

await callback.start();
await board.start();
const person = browser ? await withBrowser(browser) : withoutBrowser();
try {
  // A stranger is not let in; a person lets it look.
  let first = await attempt(look);
  step("a stranger", told(first));
  step("is approved to look", await admit(first.transport, { write: false }));
  step("looks", told(await attempt(look)));

  // It wants more than it may.
  let more = await attempt(write);
  step("writes", told(more));
  if (!more.transport) {
    // An SDK that takes a fresh token for a wider one; people take the server off and on.
    keeper.invalidateCredentials("tokens");
    more = await attempt(write);
    step("writes, anew", told(more));
  }
  step("is approved to write", await admit(more.transport, { write: true }));
  step("writes again", told(await attempt(write)));

  // Its access token expires.
  const before = keeper.kept.tokens;
  keeper.kept.tokens = { ...before, access_token: before.access_token.slice(0, -4) + "AAAA" };
  step("refreshes", told(await attempt(look)));
  step("has new tokens", keeper.kept.tokens.access_token !== before.access_token && keeper.kept.tokens.refresh_token !== before.refresh_token);

  // It expires again, and several calls at once find that out.
  const three = (client) => {
    keeper.kept.tokens = { ...keeper.kept.tokens, access_token: before.access_token };
    return Promise.all([look(client), look(client), look(client)]);
  };
  step("three calls at once", told(await attempt(three)));

  // The board starts anew.
  await board.stop();
  await board.start();
  step("after a restart", told(await attempt(look)));

  // The person takes it back.
  seen.listed = execFileSync(argv[0], ["tokens", "--tokens", tokens]).toString();
  execFileSync(argv[0], ["tokens", "revoke", "--all", "--tokens", tokens]);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  step("after it was revoked", told(await attempt(look)));
} finally {
  await person.close();
  await board.stop();
  callback.stop();
}
seen.log = board.log;
console.log(JSON.stringify(seen));
process.exit(0);
