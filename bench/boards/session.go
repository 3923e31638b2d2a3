//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// answerWait is how long one answer may take.
const answerWait = 60 * time.Second

// session speaks MCP with boardhand over the serial port, a JSON message a line.
type session struct {
	ctx  context.Context
	port net.Conn
	r    *bufio.Reader
	id   int
}

func (e *emulator) openSession() (*session, error) {
	port, err := e.dial("session")
	if err != nil {
		return nil, err
	}
	return e.newSession(port), nil
}

// newSession is a session that ends with the emulator.
func (e *emulator) newSession(port net.Conn) *session {
	context.AfterFunc(e.ctx, func() { port.Close() })
	return &session{ctx: e.ctx, port: port, r: bufio.NewReader(port)}
}

func (s *session) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.port.Write(append(b, '\n'))
	return err
}

func (s *session) notify(method string) error {
	return s.send(map[string]any{"jsonrpc": "2.0", "method": method})
}

// request sends a request and returns its id.
func (s *session) request(method string, params any) (int, error) {
	s.id++
	return s.id, s.send(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
}

// answer is what came for a request.
type answer struct {
	ID     int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Outcome string } // where the other end of a cable is gone
	}
}

// next is the next answer, to whatever request. What a port sends before the
// program has it, such as the rubbish of a mini-UART, is passed over.
func (s *session) next() (*answer, error) {
	if err := s.port.SetReadDeadline(time.Now().Add(answerWait)); err != nil {
		return nil, err
	}
	for {
		line, err := s.r.ReadBytes('\n')
		if err != nil {
			if s.ctx.Err() != nil {
				err = context.Cause(s.ctx)
			}
			return nil, fmt.Errorf("no answer: %w", err)
		}
		i := bytes.Index(line, []byte(`{"jsonrpc"`))
		if i < 0 {
			continue
		}
		a := &answer{}
		if err := json.Unmarshal(line[i:], a); err != nil {
			return nil, fmt.Errorf("%w in %q", err, line)
		}
		if a.ID != 0 { // else a notification
			return a, nil
		}
	}
}

// call is one request and its result, decoded into result.
func (s *session) call(method string, params, result any) error {
	id, err := s.request(method, params)
	if err != nil {
		return err
	}
	a, err := s.next()
	for err == nil && a.ID < id { // what a check before gave up on
		a, err = s.next()
	}
	switch {
	case err != nil:
		return err
	case a.ID != id:
		return fmt.Errorf("the answer has the id %d, the request %d", a.ID, id)
	case a.Error != nil:
		return fmt.Errorf("error %d: %s", a.Error.Code, a.Error.Message)
	}
	return json.Unmarshal(a.Result, result)
}

// arguments are those of a tool.
type arguments map[string]any

// toolError is what a tool says when it fails.
type toolError string

func (e toolError) Error() string { return string(e) }

// toolResult is what a call of a tool gives.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// decode puts the structured content into result, after checking that the text is
// the same.
func (r *toolResult) decode(result any) error {
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		return fmt.Errorf("the result has %d parts of content, want one text", len(r.Content))
	}
	text := r.Content[0].Text
	if r.IsError {
		return toolError(text)
	}
	if text != string(r.StructuredContent) {
		return fmt.Errorf("the text %s differs from the structured content %s", text, r.StructuredContent)
	}
	return json.Unmarshal(r.StructuredContent, result)
}

// tool calls a tool and decodes its structured content into result. The error of
// the tool itself is a toolError.
func (s *session) tool(name string, a arguments, result any) error {
	var r toolResult
	if err := s.call("tools/call", map[string]any{"name": name, "arguments": a}, &r); err != nil {
		return err
	}
	return r.decode(result)
}

// refused checks that a tool fails and that its error names what the user needs.
func (s *session) refused(name string, a arguments, words ...string) error {
	var any json.RawMessage
	err := s.tool(name, a, &any)
	var said toolError
	switch {
	case err == nil:
		return fmt.Errorf("%s %v was not refused: %s", name, a, any)
	case !errors.As(err, &said):
		return err
	}
	for _, w := range words {
		if !strings.Contains(string(said), w) {
			return fmt.Errorf("the error %q lacks %q", said, w)
		}
	}
	return nil
}
