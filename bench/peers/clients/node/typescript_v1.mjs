// The official TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { session } from "./session.mjs";

let protocolVersion;

// The client tells its transport which revision was agreed on, and nobody else.
class Transport extends StdioClientTransport {
  setProtocolVersion(version) {
    protocolVersion = version;
  }
}

const side = {
  async connect([command, ...args], complain) {
    const client = new Client({ name: "typescript-v1", version: "1.0.0" });
    client.onerror = complain;
    if (command.startsWith("http:")) {
      const transport = new StreamableHTTPClientTransport(new URL(command));
      await client.connect(transport);
      protocolVersion = transport.protocolVersion;
    } else {
      await client.connect(new Transport({ command, args }));
    }
    return client;
  },
  version: () => protocolVersion,
  call: (client, params, options) => client.callTool(params, undefined, options),
};

await session(side, ...JSON.parse(process.argv[2]));
