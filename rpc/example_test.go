package rpc_test

import (
	"fmt"
	"os"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// A server with one tool, for a client of 2025-06-18.
func Example() {
	srv := rpc.NewServer(rpc.Catalogue{
		Name:    "thermometer",
		Version: "1.0",
		Tools: []rpc.Tool{{
			Name:        "to_fahrenheit",
			Description: "Converts degrees Celsius.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params:      []rpc.Param{{Name: "celsius", Type: rpc.Integer, Required: true, Min: -273, Max: 10000}},
			Result:      []rpc.Field{{Name: "fahrenheit", Type: rpc.Integer}},
			Run: func(c *rpc.Call) error {
				c.Out = append(c.Out, `{"fahrenheit":`...)
				c.Out = append(wire.AppendInt(c.Out, c.Int(0)*9/5+32), '}')
				return nil
			},
		}},
	}, rpc.Limits{}, nil)

	client := strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"to_fahrenheit","arguments":{"celsius":100}}}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"to_fahrenheit","arguments":{"celsius":-300}}}` + "\n")
	if err := srv.Serve(client, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"thermometer","version":"1.0"},"capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{},"completions":{}}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"fahrenheit\":212}"}],"structuredContent":{"fahrenheit":212}}}
	// {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"parameter \"celsius\" is -300; it is a whole number from -273 to 10000, required"}],"isError":true}}
}
