//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"boardhand/bench/cable"
	"boardhand/bench/client"
)

// laptop is a process of boardhand connect and its client, who speaks the newest
// revision of MCP or, every other time, one that opens a session first.
type laptop struct {
	c        *client.Client
	stateful bool
	ready    bool // calls may be made
	messages chan []byte
}

const revision = "2025-06-18"

// startLaptop starts the laptop's process, with the baud or for it to be found. Every
// other one has the cache of the ones before it.
func (s *soak) startLaptop(find bool, rng *rand.Rand) error {
	args := []string{"connect", s.cable.Path(cable.A)}
	if !find {
		args = append(args, "--baud", strconv.Itoa(s.o.baud))
	}
	cache := s.dir
	if rng.IntN(2) == 0 {
		s.laptops++
		cache = filepath.Join(s.dir, strconv.Itoa(s.laptops))
	}
	cmd := exec.Command(s.o.exe, args...)
	cmd.Env = append(os.Environ(), "HOME="+cache, "XDG_CACHE_HOME="+cache)
	c, err := client.Launch(client.Pipes, cmd)
	if err != nil {
		return err
	}
	l := &laptop{c: c, stateful: rng.IntN(2) == 0, messages: make(chan []byte, s.o.window)}
	s.laptop = l
	go func() {
		defer close(l.messages)
		for {
			raw, err := c.Recv(0)
			if err != nil {
				return
			}
			l.messages <- bytes.Clone(raw)
		}
	}()
	l.ready = !l.stateful
	return l.open()
}

// open sends the initialize of a session.
func (l *laptop) open() error {
	if !l.stateful {
		return nil
	}
	return l.c.Send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`)
}

// opened takes the answer to initialize. While no board is there it is an error.
func (l *laptop) opened(m *client.Message) error {
	if m.Error != nil {
		return l.open()
	}
	if !bytes.Contains(m.Result, []byte(`"`+revision+`"`)) {
		return fmt.Errorf("initialize is answered by %.300s", m.Raw)
	}
	l.ready = true
	return l.c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (l *laptop) kill() {
	_ = l.c.Signal(os.Kill)
	l.c.Close()
	for range l.messages { // until the reader has ended
	}
}

// killLaptop kills the laptop's process. What waits for it has no outcome.
func (s *soak) killLaptop() {
	if s.laptop == nil {
		return
	}
	s.laptop.kill()
	s.remember("a laptop's process, before it was killed", s.laptop.c.Stderr())
	s.laptop = nil
	for n := max(0, len(s.calls)-10_000); n < len(s.calls); n++ {
		if c := &s.calls[n]; c.outcome == waiting {
			c.outcome = gone
			s.inFlight--
		}
	}
}

// messages are the laptop's, or nothing.
func (s *soak) messages() <-chan []byte {
	if s.laptop == nil {
		return nil
	}
	return s.laptop.messages
}
