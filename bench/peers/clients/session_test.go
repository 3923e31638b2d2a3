package clients

import (
	"context"
	"errors"
	"testing"
	"time"
)

// goClient is a client of a Go SDK that is connected to one server. Its errors
// are the SDK's own.
type goClient interface {
	// hello fills in what the server said of itself.
	hello(o *outcome)
	// list fills in the lists.
	list(o *outcome) error
	// call asks for progress when it is given where to report it, in parts of 1.
	call(ctx context.Context, name string, args map[string]any, progress func(float64)) (toolResult, error)
	read(uri string) (string, error)
	prompt(name string, args map[string]string) (string, error)
	complete(template, name, value string) ([]string, error)
	close() error
}

// bounded is a context for a client, which would wait for ever for an answer
// that never comes.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// session is node/session.mjs for a client in Go.
func session(t *testing.T, connect func(*testing.T, *server) goClient, calm, jammed *server) (o outcome) {
	c := connect(t, calm)
	work(t, c, &o)
	if err := c.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	c = connect(t, jammed)
	cancelCall(t, c, jammed, &o)
	if err := c.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return o
}

func work(t *testing.T, c goClient, o *outcome) {
	ctx := bounded(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	call := func(name string, args map[string]any) toolResult {
		t.Helper()
		r, err := c.call(ctx, name, args, nil)
		must(err)
		return r
	}
	level := func() int {
		t.Helper()
		return call("gpio_read", map[string]any{"lines": []string{"GPIO27"}}).output(t).Lines[0].Level
	}
	c.hello(o)
	must(c.list(o))
	o.Before = level()
	call("gpio_write", map[string]any{"line": "GPIO17", "level": 1})
	o.After = level()
	o.Refused = call("gpio_read", map[string]any{"lines": []string{"GPIO99"}}).refusal()

	var err error
	o.Board, err = c.read("board://info")
	must(err)
	o.Line, err = c.read("gpio://GPIO17")
	must(err)
	if _, err = c.read("gpio://GPIO99"); err != nil {
		o.Absent = err.Error()
	}
	o.Prompt, err = c.prompt("check_wiring", map[string]string{"line": "GPIO17"})
	must(err)
	o.Completion, err = c.complete("gpio://{line}", "line", "GPIO1")
	must(err)

	progress := make(chan float64, 100)
	r, err := c.call(ctx, "i2c_scan", map[string]any{}, func(part float64) { progress <- part })
	must(err)
	o.Found = r.output(t).addresses()
	// An SDK may deliver notifications after the answer that they came before.
	for wait := time.After(2 * time.Second); len(o.Progress) < 2; {
		select {
		case part := <-progress:
			o.Progress = append(o.Progress, part)
		case <-wait:
			return
		}
	}
}

func cancelCall(t *testing.T, c goClient, s *server, o *outcome) {
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, "i2c_read", map[string]any{"address": "0x76"}, nil)
		ended <- err
	}()
	s.waitFor(t, `"i2c_read"`)
	var meanwhile outcome
	if err := c.list(&meanwhile); err != nil {
		t.Error(err)
	}
	o.Meanwhile = len(meanwhile.Tools)
	cancel()
	err := <-ended
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the call on the jammed bus ended with %v; want %v", err, context.Canceled)
	}
	if err != nil {
		o.Jammed = err.Error()
	}
	next, err := c.call(bounded(t), "i2c_read", map[string]any{"address": "0x76"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Next = next.refusal()
}
