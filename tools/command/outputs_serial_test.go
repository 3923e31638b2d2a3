//go:build linux

package command_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"boardhand/bench/cable"
	"boardhand/bench/client"
)

// wired is a rig at one end of a cable, and a host at the other.
type wired struct {
	*rig
	cable       *cable.Cable
	port        string // the host's
	board, host *client.Client
}

// overCable starts both ends, and turns all outputs on.
func overCable(t *testing.T, r *rig) *wired {
	t.Helper()
	c, h, b := plug(t)
	w := &wired{rig: r, cable: c, port: h, board: boardAt(t, b, "--config", r.config), host: connectTo(t, h)}
	w.turnOn(w.host)
	return w
}

// began of a silence is somewhere in the second before it is seen, for a host that has
// nothing to say is heard every second.
func (w *wired) safeAfterGrace(began time.Time) {
	w.t.Helper()
	w.safeSoon(began)
	_, when := w.changes()
	if took := when[len(when)-1].Sub(began); took < linkGrace-1500*time.Millisecond {
		w.t.Errorf("they were safe after %v, with a grace of %v", took, linkGrace)
	}
}

func TestOutputsOfASerialLineAreSafe(t *testing.T) {
	t.Parallel()
	signal := func(s syscall.Signal) func(w *wired) {
		return func(w *wired) {
			began := time.Now()
			if err := w.board.Signal(s); err != nil {
				w.t.Fatal(err)
			}
			w.safeSoon(began)
			exits(w.t, w.board)
			if left := w.left(); len(left) > 0 {
				w.t.Errorf("after the end there is %q", left)
			}
		}
	}
	for name, end := range map[string]func(w *wired){
		"when it is told to stop": signal(syscall.SIGTERM),
		"when it hangs up":        signal(syscall.SIGHUP),
		"when the client has ended": func(w *wired) {
			began := time.Now()
			drain(w.t, w.host)
			w.safeSoon(began) // its end says goodbye
		},
		"when the host is killed": func(w *wired) {
			began := time.Now()
			kill(w.t, w.host)
			w.safeAfterGrace(began)
		},
		"when the cable is pulled at the host": func(w *wired) {
			began := time.Now()
			w.cable.Unplug(cable.A)
			w.safeAfterGrace(began)
		},
		"when the cable is pulled at the board": func(w *wired) {
			began := time.Now()
			w.cable.Unplug(cable.B)
			w.safeAfterGrace(began)
		},
		"when another host comes": func(w *wired) {
			kill(w.t, w.host)
			began := time.Now()
			inStep(w.t, connectTo(w.t, w.port))
			w.safeSoon(began)
		},
		"when a person says so": func(w *wired) {
			began := time.Now()
			if out, err := exec.Command(exe, "safe", "--board", "sim", "--config", w.config).CombinedOutput(); err != nil {
				w.t.Errorf("%v: %s", err, out)
			}
			w.safeSoon(began)
			kill(w.t, w.host)
			next := connectTo(w.t, w.port) // for which they are halted as well
			got, err := call(w.t, next, "tools/call", client.CallTool("gpio_write", `{"line":"pump","level":1}`)).Tool()
			if err != nil || !got.IsError || !strings.Contains(got.Text(), `halted by a person with "boardhand safe"`) {
				w.t.Errorf("%v %s", err, got.Text())
			}
		},
		"after it was killed": func(w *wired) {
			kill(w.t, w.board)
			w.stand("GPIO5 high, GPIO6 low, GPIO13 high, GPIO19 high")
			next := boardAt(w.t, w.cable.Path(cable.B), "--config", w.config)
			w.safeSoon(time.Now())
			says(w.t, next, fmt.Sprintf("process %d (boardhand serve", w.board.Pid()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end(overCable(t, newRig(t, rigLines, "")))
		})
	}
}

// A silent host does not keep outputs on by what it has left running, nor by a jammed bus.
func TestOutputsOfASilentHostStaySafe(t *testing.T) {
	t.Parallel()
	w := overCable(t, newRig(t, rigLines, "[[sim.jam]]\nbus = 1\nseconds = 20\n"))
	send(t, w.host, client.ModernRequest(100, "tools/call", client.CallTool("i2c_scan", "")),
		client.ModernRequest(101, "tools/call", client.CallTool("gpio_pulse", `{"line":"pump","high_us":300000,"low_us":300000,"count":100}`)))
	inStep(t, w.host)
	began := time.Now()
	if err := w.host.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(linkGrace + 500*time.Millisecond)
	w.stand(allSafe)
	all, _ := w.changes()
	time.Sleep(time.Second)
	if now, _ := w.changes(); len(now) != len(all) {
		t.Errorf("after that they changed: %q", now[len(all):])
	}
	// It is back before it was given up: it goes on, and may turn on again.
	if err := w.host.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says(t, w.board, "nothing was heard from the host for 2s; the outputs are at their safe levels")
	if m := recv(t, w.host); string(m.ID) != "101" || !strings.Contains(string(m.Raw), "nothing was heard from the host for 2s") {
		t.Errorf("the pulses ended by %s", m.Raw)
	}
	for end := began.Add(client.Timeout); ; {
		got, err := call(t, w.host, "tools/call", client.CallTool("gpio_write", `{"line":"fan","level":1}`)).Tool()
		if err == nil && !got.IsError {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err, got.Text())
		}
	}
	w.stand("GPIO19 high, GPIO13 low")
}

// talk is a plain program at the host's end of a cable.
type talk struct {
	t  *testing.T
	f  *os.File
	id int
}

// tool calls a tool, and again until it is answered: the board may not listen yet.
func (p *talk) tool(name, arguments string) {
	p.t.Helper()
	for end := time.Now().Add(client.Timeout); time.Now().Before(end); {
		p.id++
		_, err := io.WriteString(p.f, client.ModernRequest(p.id, "tools/call", client.CallTool(name, arguments))+"\n")
		if err == nil {
			err = p.f.SetReadDeadline(time.Now().Add(time.Second))
		}
		if err != nil {
			p.t.Fatal(err)
		}
		for in := bufio.NewScanner(p.f); in.Scan(); {
			if got := in.Text(); strings.Contains(got, fmt.Sprintf(`"id":%d,"result"`, p.id)) {
				if strings.Contains(got, "isError") {
					p.t.Fatal(got)
				}
				return
			}
		}
	}
	p.t.Fatalf("%s %s is not answered", name, arguments)
}

// Who speaks plainly onto the port has no other end than silence.
func TestOutputsOfAPlainConversationAreSafe(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	_, h, b := plug(t)
	boardAt(t, b, "--config", r.config)
	drain(t, connectTo(t, h)) // when it answers, the board is there
	p := &talk{t: t, f: script(t, h)}
	p.tool("gpio_write", `{"line":"pump","level":1}`)
	began := time.Now()
	r.stand("GPIO5 high")
	for end := began.Add(client.Timeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if what, _ := r.changes(); what[len(what)-1] == "GPIO5 low" {
			break
		}
	}
	r.stand("GPIO5 low")
	_, when := r.changes()
	t.Logf("safe after %v", when[len(when)-1].Sub(began))
	p.tool("gpio_write", `{"line":"pump","level":1}`) // it goes on
	r.stand("GPIO5 high")
}
