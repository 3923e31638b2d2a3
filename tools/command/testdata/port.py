import json, serial

port = serial.Serial("/dev/ttyUSB0", 115200)

def call(tool, **arguments):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"_meta": meta, "name": tool, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    port.write(b"\n" + json.dumps(request).encode() + b"\n")
    return json.loads(port.readline())["result"]["structuredContent"]

print(call("gpio_read", lines=["GPIO17"]))
