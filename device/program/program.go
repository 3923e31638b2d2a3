// Package program runs a program that a board file names: by its path and a list of
// arguments, never through a shell, with nothing on its standard input, for a bounded
// time and with a bounded output. It is ended with all that it started in its process
// group.
package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Limits bound one run.
type Limits struct {
	Time   time.Duration
	Output int // bytes of standard output and standard error together
	// Cancelled is asked now and then, and ends the program; nil never does.
	Cancelled func() bool
}

// Result is what a program said, and how it ended.
type Result struct {
	Output []byte
	Status int // its exit status
}

const (
	look = 20 * time.Millisecond // for a cancellation
	// settle is how long the output is waited for after the program's own end, where
	// what it started has it still.
	settle = 200 * time.Millisecond
)

// environment is all that a program gets of one.
var environment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}

var (
	errTime   = errors.New("its time was up")
	errOutput = errors.New("it wrote too much")
	errCancel = errors.New("cancelled")
)

// Run runs the program at path, an absolute one. A program that ends by itself is no
// error, whatever its status; one that had to be ended is.
func Run(path string, arguments []string, l Limits) (r Result, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return r, err
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return r, err
	}
	defer out.Close()
	// The kernel ends a program with the thread that started it, see attributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(path, append([]string{path}, arguments...), &os.ProcAttr{
		Dir: "/", Env: environment, Files: []*os.File{null, in, in}, Sys: attributes(),
	})
	in.Close()
	if err != nil {
		return r, fmt.Errorf("%s cannot be started: %w", path, errors.Unwrap(err))
	}
	reading := make(chan said, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(out, int64(l.Output)+1))
		reading <- said{text, err}
	}()
	ending := make(chan ended, 1)
	go func() {
		state, err := p.Wait()
		ending <- ended{state, err}
	}()

	var text *said
	state, why := waitFor(ending, reading, &text, l)
	if why != nil {
		end(p)
		<-ending
	} else if text == nil {
		// What it has started may have its output still, and goes with it.
		select {
		case s := <-reading:
			text = &s
		case <-time.After(settle):
			end(p)
		}
	}
	out.Close() // ends the reading
	if text == nil {
		s := <-reading
		text = &s
	}
	if why == nil && len(text.text) > l.Output {
		why = errOutput
	}
	switch {
	case why != nil:
		return r, fmt.Errorf("%s was ended: %w; %v and %d bytes are allowed", path, why, l.Time, l.Output)
	case state.ExitCode() < 0:
		return r, fmt.Errorf("%s ended: %v", path, state)
	}
	return Result{Output: text.text, Status: state.ExitCode()}, nil
}

// said is all that the program wrote, until the end or the limit.
type said struct {
	text []byte
	err  error
}

// ended is how the program ended.
type ended struct {
	state *os.ProcessState
	err   error
}

// waitFor waits for the end of the program; its error says why it must be ended. What
// the program has said comes to text where it is complete before.
func waitFor(ending chan ended, reading chan said, text **said, l Limits) (*os.ProcessState, error) {
	late := time.NewTimer(l.Time)
	defer late.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case e := <-ending:
			return e.state, e.err
		case s := <-reading:
			*text, reading = &s, nil
			if len(s.text) > l.Output {
				return nil, errOutput
			}
		case <-late.C:
			return nil, errTime
		case <-tick.C:
			if l.Cancelled != nil && l.Cancelled() {
				return nil, errCancel
			}
		}
	}
}
