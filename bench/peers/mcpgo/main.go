// Command mcpgo is the smallest server on mark3labs/mcp-go with one tool,
// gpio_read, for bench/peers to measure.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type arguments struct {
	Lines []string `json:"lines"`
}

type line struct {
	Name  string `json:"name"`
	Level int    `json:"level"`
}

type result struct {
	Lines []line `json:"lines"`
}

func gpioRead(_ context.Context, _ mcp.CallToolRequest, in arguments) (result, error) {
	out := result{Lines: make([]line, len(in.Lines))}
	for i, name := range in.Lines {
		if name != "GPIO17" {
			return result{}, errors.New("no such line; there is GPIO17")
		}
		out.Lines[i].Name = name
	}
	return out, nil
}

func main() {
	s := server.NewMCPServer("mcpgo", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("gpio_read",
		mcp.WithDescription("Reads GPIO lines."),
		mcp.WithArray("lines", mcp.Required(), mcp.Description("names of the lines to read"), mcp.WithStringItems()),
		mcp.WithOutputSchema[result](),
	), mcp.NewStructuredToolHandler(gpioRead))
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
