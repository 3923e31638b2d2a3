package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Timeout is how long Call and Ask wait for an answer.
const Timeout = 30 * time.Second

// Modern is the request parameter _meta that MCP 2026-07-28 asks of every
// request, as a member: put it into params.
const Modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// Message is what a server sends.
type Message struct {
	Raw    []byte          // the whole of it
	ID     json.RawMessage // nil: a notification, or an error about a message without an id
	Method string          // of a notification
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// Error is the error object of an answer.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *Error) Error() string { return strconv.Itoa(e.Code) + " " + e.Message }

// Parse reads a message.
func Parse(raw []byte) (*Message, error) {
	var envelope struct {
		JSONRPC string
		*Message
	}
	envelope.Message = &Message{Raw: append([]byte(nil), raw...)}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, fmt.Errorf("%w: %.200q", err, raw)
	}
	if envelope.JSONRPC != "2.0" {
		return nil, fmt.Errorf("no message of JSON-RPC 2.0: %.200q", raw)
	}
	return envelope.Message, nil
}

// Tool is the result of a tool, in every revision from 2025-06-18 on.
type Tool struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// Tool reads the message's result as that of tools/call.
func (m *Message) Tool() (Tool, error) {
	var t Tool
	if m.Error != nil {
		return t, m.Error
	}
	return t, json.Unmarshal(m.Result, &t)
}

// Text is the result's text.
func (t *Tool) Text() string {
	var all []string
	for _, c := range t.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// Request builds a request of the handshake revisions; params is the text of a
// JSON object, or empty for none.
func Request(id int, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"` + method + `"` + params + `}`
}

// ModernRequest builds a request of MCP 2026-07-28.
func ModernRequest(id int, method, params string) string {
	members := strings.TrimPrefix(strings.TrimSpace(params), "{")
	if members == "" {
		members = "}"
	}
	if strings.TrimSpace(members) != "}" {
		members = "," + members
	}
	return Request(id, method, "{"+Modern+members)
}

// CallTool builds the params of tools/call; arguments is the text of a JSON
// object, or empty for none.
func CallTool(name, arguments string) string {
	if arguments != "" {
		arguments = `,"arguments":` + arguments
	}
	return `{"name":"` + name + `"` + arguments + `}`
}

// Call sends a request of MCP 2026-07-28 and gives its answer, and the
// notifications that came before it.
func (c *Client) Call(method, params string) (*Message, []*Message, error) {
	c.id++
	return c.ask(ModernRequest(c.id, method, params))
}

// Ask is Call in the revision that an initialize has agreed on, or for methods
// before it.
func (c *Client) Ask(method, params string) (*Message, []*Message, error) {
	c.id++
	return c.ask(Request(c.id, method, params))
}

// Initialize opens a session of a revision.
func (c *Client) Initialize(version string) (*Message, error) {
	m, _, err := c.Ask("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err == nil && m.Error != nil {
		err = m.Error
	}
	if err != nil {
		return nil, err
	}
	return m, c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *Client) ask(request string) (*Message, []*Message, error) {
	if err := c.Send(request); err != nil {
		return nil, nil, err
	}
	var before []*Message
	for {
		raw, err := c.Recv(Timeout)
		if err != nil {
			return nil, before, fmt.Errorf("after %.200s: %w", request, err)
		}
		m, err := Parse(raw)
		switch {
		case err != nil:
			return nil, before, err
		case m.Method != "":
			before = append(before, m)
		case string(m.ID) == strconv.Itoa(c.id):
			return m, before, nil
		default:
			return nil, before, fmt.Errorf("an answer to something else than %.200s: %.200s", request, raw)
		}
	}
}
