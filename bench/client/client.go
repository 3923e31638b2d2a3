// Package client starts a server as a client of MCP does, as a child process,
// and speaks with it over its standard input and output: for tests, benchmarks
// and the demonstration. It takes what the server sends as it is, whatever it is.
package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"boardhand/frame"
)

// Transport is what the child's standard input and output are.
type Transport uint8

// The transports.
const (
	Pipes    Transport = iota // one each way
	Sockets                   // a pair of UNIX sockets each way, as a client on node has it
	NonBlock                  // pipes of which the child's ends have O_NONBLOCK set, as some parents leave them
)

func (t Transport) String() string { return [...]string{"pipes", "sockets", "nonblocking pipes"}[t] }

// Client is a running server and our end of its connection. It is for one
// goroutine, but one may send while another receives.
type Client struct {
	// In and Out are our ends of the child's standard input and output, for bytes
	// that are no messages. Who reads Out must not call Recv too.
	In, Out *os.File
	// Mode is the framing that Send uses; answers come in the same.
	Mode frame.Mode

	cmd    *exec.Cmd
	w      *frame.Writer
	r      *frame.Reader
	stderr tail
	id     int
	ended  chan struct{} // closed when the child has ended
}

// maxMessage is the longest message that Recv takes, in bytes.
const maxMessage = 64 << 20

// Start starts a program over pipes.
func Start(exe string, args ...string) (*Client, error) {
	return Launch(Pipes, exec.Command(exe, args...))
}

// Launch starts cmd over a transport. Its Stdin, Stdout and Stderr must be nil,
// or stay as they are: then In or Out is nil, or there is nothing to see of
// Stderr.
func Launch(t Transport, cmd *exec.Cmd) (*Client, error) {
	c := &Client{cmd: cmd, ended: make(chan struct{})}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	if cmd.Stdin == nil {
		child, ours, err := link(t, true)
		if err != nil {
			return nil, err
		}
		cmd.Stdin, c.In, theirs = child, ours, append(theirs, child)
	}
	if cmd.Stdout == nil {
		child, ours, err := link(t, false)
		if err != nil {
			return nil, err
		}
		cmd.Stdout, c.Out, theirs = child, ours, append(theirs, child)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.stderr
	}
	if err := cmd.Start(); err != nil {
		c.closeFiles()
		return nil, err
	}
	if t == NonBlock {
		for _, f := range theirs { // before the start would be undone by it
			if err := setNonblock(f); err != nil {
				_ = cmd.Process.Kill()
				c.closeFiles()
				return nil, err
			}
		}
	}
	if c.In != nil {
		c.w = frame.NewWriter(c.In)
	}
	if c.Out != nil {
		c.r = frame.NewReader(c.Out, maxMessage)
	}
	go func() {
		_ = cmd.Wait() // what it tells is in ProcessState
		close(c.ended)
	}()
	return c, nil
}

// link makes one way between a child and us: the child's end and ours.
func link(t Transport, toChild bool) (child, ours *os.File, err error) {
	if t == Sockets {
		return socketPair()
	}
	r, w, err := os.Pipe()
	if toChild {
		return r, w, err
	}
	return w, r, err
}

func (c *Client) closeFiles() {
	if c.In != nil {
		c.In.Close()
	}
	if c.Out != nil {
		c.Out.Close()
	}
}

// Pid is the child's process.
func (c *Client) Pid() int { return c.cmd.Process.Pid }

// Send sends messages, all in one write.
func (c *Client) Send(messages ...string) error {
	for _, m := range messages {
		c.w.End(append(c.w.Begin(), m...), c.Mode)
	}
	return c.w.Flush()
}

// Recv gives the next message, or the next line of whatever else there is, valid
// until the next call. io.EOF is the end of the child's output. A timeout, with
// an error that is os.ErrDeadlineExceeded, is the end of the connection: what was
// half received is gone. 0 waits for ever.
func (c *Client) Recv(timeout time.Duration) ([]byte, error) {
	if !c.r.Buffered() {
		var deadline time.Time
		if timeout > 0 {
			deadline = time.Now().Add(timeout)
		}
		if err := c.Out.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
	}
	msg, mode, err := c.r.Next()
	if err == nil && mode != c.Mode {
		return msg, fmt.Errorf("a message in %s framing, where %s was used: %.200q", mode, c.Mode, msg)
	}
	return msg, err
}

// CloseInput ends the child's input.
func (c *Client) CloseInput() error { return c.In.Close() }

// Signal sends the child a signal.
func (c *Client) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// errRunning says that a child has not ended in time.
var errRunning = errors.New("the process has not ended")

// Wait waits for the child to end and gives its exit status: -1 where a signal
// ended it. With 0 it waits for ever.
func (c *Client) Wait(timeout time.Duration) (status int, err error) {
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode(), nil
	case <-late:
		return 0, errRunning
	}
}

// Close ends the child, by the end of its input or, if that does not help within
// two seconds, by force, and gives its exit status.
func (c *Client) Close() int {
	c.closeFiles()
	if _, err := c.Wait(2 * time.Second); err != nil {
		_ = c.cmd.Process.Kill()
	}
	status, _ := c.Wait(0)
	return status
}

// Stderr is what the child has written to its standard error, the last 64 KiB.
func (c *Client) Stderr() string { return c.stderr.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	t.buf.Next(max(0, t.buf.Len()-64<<10))
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Clone(t.buf.String())
}
