// Command gosdk is the smallest server on the official Go SDK with one tool,
// gpio_read, for bench/peers to measure.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments struct {
	Lines []string `json:"lines" jsonschema:"names of the lines to read"`
}

type line struct {
	Name  string `json:"name"`
	Level int    `json:"level"`
}

type result struct {
	Lines []line `json:"lines"`
}

func gpioRead(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, result, error) {
	out := result{Lines: make([]line, len(in.Lines))}
	for i, name := range in.Lines {
		if name != "GPIO17" {
			return nil, result{}, errors.New("no such line; there is GPIO17")
		}
		out.Lines[i].Name = name
	}
	return nil, out, nil
}

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "gpio_read", Description: "Reads GPIO lines."}, gpioRead)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
