//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"boardhand/bench/cable"
	"boardhand/bench/client"
)

// board is a process of boardhand serve --serial. It serves this machine itself,
// whose network the counter is on.
type board struct {
	cmd   *exec.Cmd
	said  tail
	ended chan error
}

var serve = []string{"serve", "--board", "linux"}

func (s *soak) startBoard() error {
	b := &board{cmd: exec.Command(s.o.exe, append(serve[:len(serve):len(serve)], "--serial", s.cable.Path(cable.B), "--baud", strconv.Itoa(s.o.baud))...), ended: make(chan error, 1)}
	b.cmd.Stderr = &b.said
	if err := b.cmd.Start(); err != nil {
		return err
	}
	go func() { b.ended <- b.cmd.Wait() }()
	s.board = b
	return nil
}

// stop ends the board's process, by SIGKILL or, to see its status, SIGTERM.
func (b *board) stop(signal syscall.Signal) error {
	_ = b.cmd.Process.Signal(signal)
	select {
	case err := <-b.ended:
		return err
	case <-time.After(client.Timeout):
		_ = b.cmd.Process.Kill()
		<-b.ended
		return errors.New("it does not end")
	}
}

func (s *soak) killBoard() {
	if s.board == nil {
		return
	}
	_ = s.board.stop(syscall.SIGKILL)
	s.remember("a board's process, before it was killed", s.board.said.String())
	s.board = nil
}

// lists asks boardhand itself, over its standard input and output, for the list of
// tools as each kind of laptop gets it.
func (s *soak) askLists() error {
	c, err := client.Start(s.o.exe, serve...)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, stateful := range []bool{false, true} {
		ask := c.Call
		if stateful {
			if _, err := c.Initialize(revision); err != nil {
				return err
			}
			ask = c.Ask
		}
		m, _, err := ask("tools/list", "{}")
		if err != nil {
			return err
		}
		if m.Error != nil || !bytes.Contains(m.Result, []byte(`"modbus_write"`)) {
			return fmt.Errorf("this machine cannot be the board: tools/list gives %.500s %v", m.Result, m.Error)
		}
		s.lists[stateful] = string(m.Result)
	}
	return nil
}

// tail keeps the end of what a process says.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	t.buf.Next(max(0, t.buf.Len()-tailSize))
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// memoryOf is the anonymous memory of a process in KiB (RssAnon of proc(5)); 0 where
// it is gone.
func memoryOf(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.Atoi(string(fields[0]))
	return kib
}
