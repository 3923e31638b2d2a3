//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// rig is a board with outputs that have rules, at two pins of the watched device: a pump
// that is safe low, and a valve that is safe high.
type rig struct {
	pump, valve pin
	names       [3]string // of both lines, and of an input
	// keeps says that a line which no process has any more keeps its level, as most chips'
	// do. Of gpio-sim it goes to its pull, which is down.
	keeps bool
	// watchdog says that watchdog0 is one in software that nobody else feeds.
	watchdog bool
}

// boardFile is the rig's, with how long the pump may be on.
func (g rig) boardFile(maxOn string) string {
	return fmt.Sprintf(`
[outputs]
state = "/state"

[[line]]
line = %q
name = "pump"
access = "write"
safe = "low"
max_on = %q

[[line]]
line = %q
name = "valve"
access = "write"
safe = "high"

[[line]]
line = %q
name = "button"
`, g.names[0], maxOn, g.names[1], g.names[2])
}

const rigFile = "/board.toml"

// checks try the outputs with processes of their own.
func (g rig) checks() []check {
	if g.names[0] == "" {
		return nil
	}
	all := []check{
		{"a board file gives outputs their initial levels", func(b *board) error {
			return g.with(b, "1h", func() error { return errors.Join(b.seen(g.pump.n, 0), b.seen(g.valve.n, 1)) })
		}},
		g.ends("end of input", "close"),
		g.ends("SIGTERM", "15"),
		g.ends("SIGHUP", "1"),
		{"after kill -9 the next start brings outputs to rest", g.killed},
		{"boardhand safe after kill -9 brings outputs to rest", g.killedThenSafe},
		{"boardhand safe halts the outputs of a server", g.safe},
		{"a second process is told who has a line, and serves the rest", g.second},
		{"max_on turns an output off", g.maxOn},
	}
	if g.watchdog {
		all = append(all, check{"the watchdog is fed while the server lives, and stopped at its end", g.fed})
	}
	return all
}

// with starts a server, and ends it when do has returned.
func (g rig) with(b *board, maxOn string, do func() error) error {
	if _, err := b.guest.do(nil, "file", rigFile, strconv.Quote(g.boardFile(maxOn))); err != nil {
		return err
	}
	if err := g.start(b, "one"); err != nil {
		return err
	}
	err := do()
	if _, end := b.guest.do(nil, "end", "one", "close"); end != nil && !strings.Contains(end.Error(), "no program serves") {
		err = errors.Join(err, end)
	}
	return err
}

// start starts a server and waits until it answers.
func (g rig) start(b *board, name string) error {
	if _, err := b.guest.do(nil, "start", name, "/boardhand", "serve", "--board", "linux", "--config", rigFile); err != nil {
		return err
	}
	_, err := g.call(b, name, "board_info", arguments{})
	return err
}

// call calls a tool of a server, and gives its text; an error of the tool is a toolError.
func (g rig) call(b *board, name, tool string, a arguments) (string, error) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": a, "_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}})
	if err != nil {
		return "", err
	}
	line, err := b.guest.do(nil, "ask", name, strconv.Quote(string(message)))
	if err != nil {
		return "", err
	}
	var got struct {
		Result toolResult
		Error  any
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Error != nil || len(got.Result.Content) == 0 {
		return "", fmt.Errorf("%s gave %s, %v", tool, line, err)
	}
	text := got.Result.Content[0].Text
	if got.Result.IsError {
		return text, toolError(text)
	}
	return text, nil
}

// turnOn brings both outputs from their safe levels.
func (g rig) turnOn(b *board, name string) error {
	_, err := g.call(b, name, "gpio_write", arguments{"line": "pump", "level": 1})
	_, err2 := g.call(b, name, "gpio_write", arguments{"line": "valve", "level": 0})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	return errors.Join(b.seen(g.pump.n, 1), b.seen(g.valve.n, 0))
}

// atRest checks that both outputs are, once no process has them.
func (g rig) atRest(b *board) error {
	err := b.seen(g.pump.n, 0)
	if g.keeps {
		err = errors.Join(err, b.seen(g.valve.n, 1))
	}
	return err
}

// ends checks that the outputs are at rest when a server ends so.
func (g rig) ends(what, how string) check {
	return check{what + " brings outputs to rest", func(b *board) error {
		return g.with(b, "1h", func() error {
			if err := g.turnOn(b, "one"); err != nil {
				return err
			}
			command, began := []string{"end", "one", how}, time.Now()
			if isSim(g.pump.device) {
				command = append(command, simFile(g.pump.n, "value"), "0")
			}
			said, err := b.guest.do(nil, command...)
			if err != nil {
				return err
			}
			if !strings.HasSuffix(said, "exit status 0") {
				return fmt.Errorf("it ended by %s", said)
			}
			if err := g.atRest(b); err != nil {
				return err
			}
			if took, _, _ := strings.Cut(said, " "); took != "0" {
				fmt.Printf("        the pump was off %s us after it, in the guest\n", took)
			} else {
				fmt.Printf("        it had ended %v after it, seen from outside\n", time.Since(began).Round(time.Millisecond))
			}
			return nil
		})
	}}
}

// kill kills a server whose outputs are on.
func (g rig) kill(b *board) error {
	if err := g.turnOn(b, "one"); err != nil {
		return err
	}
	if _, err := b.guest.do(nil, "end", "one", "9"); err != nil {
		return err
	}
	if !g.keeps {
		return nil
	}
	time.Sleep(200 * time.Millisecond)
	return errors.Join(b.seen(g.pump.n, 1), b.seen(g.valve.n, 0)) // as a dead process leaves them
}

func (g rig) killed(b *board) error {
	return g.with(b, "1h", func() error {
		if err := g.kill(b); err != nil {
			return err
		}
		if err := g.start(b, "one"); err != nil {
			return err
		}
		text, err := b.guest.read("/one")
		if err == nil && !strings.Contains(text, "(boardhand serve --board linux --config /board.toml) ended without bringing its outputs to rest; they are now") {
			err = fmt.Errorf("the next says %q", text)
		}
		return errors.Join(err, b.seen(g.pump.n, 0), b.seen(g.valve.n, 1))
	})
}

func (g rig) killedThenSafe(b *board) error {
	return g.with(b, "1h", func() error {
		if err := g.kill(b); err != nil {
			return err
		}
		if err := g.run(b, "had ended; its outputs are at rest", "safe"); err != nil {
			return err
		}
		return g.atRest(b)
	})
}

// run runs boardhand, which must say a text.
func (g rig) run(b *board, want string, words ...string) error {
	var said []string
	command := append([]string{"run", "/boardhand"}, words...)
	_, err := b.guest.do(func(line string) { said = append(said, line) }, append(command, "--board", "linux", "--config", rigFile)...)
	if all := strings.Join(said, "\n"); !strings.Contains(all, want) {
		return fmt.Errorf("boardhand %s: it says %q, not %q: %v", strings.Join(words, " "), all, want, err)
	}
	return nil
}

func (g rig) safe(b *board) error {
	return g.with(b, "1h", func() error {
		if err := g.turnOn(b, "one"); err != nil {
			return err
		}
		if err := g.run(b, "has halted its outputs", "safe"); err != nil {
			return err
		}
		_, err := g.call(b, "one", "gpio_write", arguments{"line": "pump", "level": 1})
		var said toolError
		if !errors.As(err, &said) || !strings.Contains(string(said), `halted by a person with "boardhand safe"`) {
			return fmt.Errorf("turned on after that: %w", err)
		}
		return errors.Join(b.seen(g.pump.n, 0), b.seen(g.valve.n, 1))
	})
}

func (g rig) second(b *board) error {
	return g.with(b, "1h", func() error {
		if err := g.turnOn(b, "one"); err != nil {
			return err
		}
		if err := g.start(b, "two"); err != nil {
			return err
		}
		const first = "(/boardhand serve --board linux --config /board.toml)"
		text, err := b.guest.read("/two")
		for _, line := range []string{"pump", "valve"} {
			if err == nil && !(strings.Contains(text, strconv.Quote(line)) && strings.Contains(text, first)) {
				err = fmt.Errorf("at its start the second says %q", text)
			}
			_, refused := g.call(b, "two", "gpio_write", arguments{"line": line, "level": 1})
			var said toolError
			if !errors.As(refused, &said) || !strings.Contains(string(said), first) || !strings.Contains(string(said), strconv.Quote(line)) {
				err = errors.Join(err, fmt.Errorf("a write to %s by the second: %w", line, refused))
			}
		}
		_, read := g.call(b, "two", "gpio_read", arguments{"lines": "button"})
		_, end := b.guest.do(nil, "end", "two", "close")
		// The first has kept them all the time.
		return errors.Join(err, read, end, b.seen(g.pump.n, 1), b.seen(g.valve.n, 0))
	})
}

func (g rig) maxOn(b *board) error {
	return g.with(b, "500ms", func() error {
		if _, err := g.call(b, "one", "gpio_write", arguments{"line": "pump", "level": 1}); err != nil {
			return err
		}
		if err := b.seen(g.pump.n, 0); err != nil {
			return err
		}
		return b.soon(func() error {
			text, err := b.guest.read("/one")
			if err == nil && !strings.Contains(text, "it may be on at most 500ms, and was turned off") {
				err = fmt.Errorf("it says %q", text)
			}
			return err
		})
	})
}

// watched starts a server that feeds the watchdog.
func (g rig) watched(b *board) error {
	file := g.boardFile("1h") + fmt.Sprintf("\n[watchdog]\ndevice = \"/dev/watchdog0\"\ntimeout = \"%v\"\n", watchdogTime)
	if _, err := b.guest.do(nil, "file", rigFile, strconv.Quote(file)); err != nil {
		return err
	}
	return g.start(b, "one")
}

const watchdogTime = 3 * time.Second

func (g rig) fed(b *board) error {
	if err := g.watched(b); err != nil {
		return err
	}
	time.Sleep(2 * watchdogTime)
	const folder = "/sys/class/watchdog/watchdog0/"
	state, err := b.guest.read(folder + "state")
	timeout, err2 := b.guest.read(folder + "timeout")
	_, err3 := b.guest.do(nil, "end", "one", "close")
	after, err4 := b.guest.read(folder + "state")
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	if got := state + " " + timeout + " " + after; got != "active 3 inactive" {
		return fmt.Errorf("its state, timeout and state at the end are %q", got)
	}
	return nil
}

// reset hangs a server; the machine does not outlive it.
func (g rig) reset(b *board) error {
	if err := g.watched(b); err != nil {
		return err
	}
	const stop = "19"
	_, err := b.guest.do(nil, "end", "one", stop)
	if errors.Is(err, errEnded) {
		return nil
	}
	return fmt.Errorf("it was not reset: %w", err)
}
