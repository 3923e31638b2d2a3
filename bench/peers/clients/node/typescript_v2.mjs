// The official TypeScript SDK, version 2. The second argument is how it finds
// out what the server speaks: legacy, auto or a revision.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { session } from "./session.mjs";

const how = process.argv[3];
const mode = how === "legacy" || how === "auto" ? how : { pin: how };

const side = {
  async connect([command, ...args], complain) {
    const client = new Client({ name: "typescript-v2", version: "1.0.0" }, { versionNegotiation: { mode } });
    client.onerror = complain;
    const http = command.startsWith("http:");
    await client.connect(http ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args }));
    return client;
  },
  version: (client) => client.getNegotiatedProtocolVersion(),
  call: (client, params, options) => client.callTool(params, options),
};

await session(side, ...JSON.parse(process.argv[2]));
