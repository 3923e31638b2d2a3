// Command gosdk is the smallest server on the official Go SDK with one tool,
// gpio_read, for bench/peers to measure.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"

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
	if len(os.Args) == 3 && os.Args[1] == "-http" { // what bench/peers/overhttp measures
		l, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("serving at http://%s/mcp", l.Addr())
		handler := func(stateless bool) http.Handler {
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: stateless})
		}
		sessions, stateless := handler(false), handler(true)
		log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
				stateless.ServeHTTP(w, r)
				return
			}
			sessions.ServeHTTP(w, r)
		})))
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
