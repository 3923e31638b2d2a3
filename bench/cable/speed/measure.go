//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/bench/cable"
	"boardhand/bench/client"
	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/frame/tty"
)

// What is measured, in seconds of the line, and how many calls wait where many do.
const (
	oneAtATime = 3
	pipelined  = 3
	large      = 16 // of incompressible bytes: what the beginning costs is small
	inFlight   = 32
)

// figures are what was measured at one baud.
type figures struct {
	baud          int
	goodput       float64 // the part of the line that the bytes of a large message get
	link, plain   calls
	floor         time.Duration // as many bytes as the link's there and back, echoed by nothing
	local         time.Duration // a call over standard input and output
	plainMeasured bool
}

// calls are what calls were like.
type calls struct {
	rate            float64 // a second, one at a time
	pipelined       float64 // a second, many at one time
	median          time.Duration
	toBoard, toHost float64 // bytes each
}

// wire is the time that the bytes of a call are on the line.
func (c *calls) wire(baud int) time.Duration {
	return time.Duration((c.toBoard + c.toHost) * float64(10*time.Second) / float64(baud))
}

// delay is what a call takes longer than without a cable, as a multiple of the time
// that its bytes are on the line.
func (f *figures) delay() float64 {
	return float64(f.link.median-f.local) / float64(f.link.wire(f.baud))
}

// budgets are the figures by their names in bench/budgets.txt.
func (f *figures) budgets() map[string]float64 {
	named := map[string]float64{}
	for what, value := range map[string]float64{
		"goodput": f.goodput, "calls_per_s": f.link.rate, "pipelined_per_s": f.link.pipelined, "delay_ratio": f.delay(),
	} {
		named[fmt.Sprintf("link.time.%s.%d", what, f.baud)] = value
	}
	return named
}

// measure measures at one baud; with plain, also who speaks JSON without the link.
func measure(exe, dir string, baud int, plain bool) (*figures, error) {
	c, err := cable.Open(cable.Config{A: filepath.Join(dir, "a"), B: filepath.Join(dir, "b"), Baud: baud})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f := &figures{baud: baud, plainMeasured: plain}
	if f.goodput, err = goodput(c, baud); err != nil {
		return nil, err
	}
	if f.local, err = local(exe); err != nil {
		return nil, err
	}
	board, err := startBoard(c, exe, baud)
	if err != nil {
		return nil, err
	}
	defer func() { board.Close() }()
	cmd := exec.Command(exe, "connect", c.Path(cable.A), "--baud", strconv.Itoa(baud))
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir)
	laptop, err := client.Launch(client.Pipes, cmd)
	if err != nil {
		return nil, err
	}
	err = f.link.measure(&talk{send: func(m string) error { return laptop.Send(m) }, recv: laptop.Recv}, c)
	laptop.Close()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, laptop.Stderr())
	}
	board.Close()
	if plain {
		if board, err = startBoard(c, exe, baud); err != nil { // anew: it would wait for the link
			return nil, err
		}
		port, err := tty.Open(c.Path(cable.A), baud)
		if err != nil {
			return nil, err
		}
		t := talkPlainly(port)
		if err = t.found(); err == nil {
			err = f.plain.measure(t, c)
		}
		port.Close()
		if err != nil {
			return nil, err
		}
		board.Close()
	}
	f.floor, err = floor(c, int(f.link.toBoard+.5), int(f.link.toHost+.5))
	return f, err
}

// startBoard starts the board's process.
func startBoard(c *cable.Cable, exe string, baud int) (*boardProcess, error) {
	b := &boardProcess{exec.Command(exe, "serve", "--board", "sim", "--serial", c.Path(cable.B), "--baud", strconv.Itoa(baud))}
	return b, b.cmd.Start()
}

type boardProcess struct{ cmd *exec.Cmd }

// Close ends it, once.
func (b *boardProcess) Close() {
	if b.cmd.ProcessState == nil {
		_ = b.cmd.Process.Signal(os.Interrupt)
		_ = b.cmd.Wait()
	}
}

// local is the median time of a call over standard input and output.
func local(exe string) (time.Duration, error) {
	c, err := client.Start(exe, "serve", "--board", "sim")
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var of calls
	err = of.oneAtATime(&talk{send: func(m string) error { return c.Send(m) }, recv: c.Recv}, time.Second)
	return of.median, err
}

// talk is a client's end of a connection.
type talk struct {
	send func(message string) error
	recv func(wait time.Duration) ([]byte, error)
	id   int
}

// talkPlainly speaks newline JSON at a port.
func talkPlainly(port *tty.Port) *talk {
	answers := make(chan []byte, inFlight) // read at all times, for a line does not wait
	go func() {
		defer close(answers)
		for in := frame.NewReader(port, 1<<20); ; {
			msg, _, err := in.Next()
			if err != nil {
				return
			}
			answers <- bytes.Clone(msg)
		}
	}()
	return &talk{
		send: func(m string) error { _, err := io.WriteString(port, m+"\n"); return err },
		recv: func(wait time.Duration) ([]byte, error) {
			select {
			case msg, ok := <-answers:
				if !ok {
					return nil, io.ErrUnexpectedEOF
				}
				return msg, nil
			case <-time.After(wait):
				return nil, os.ErrDeadlineExceeded
			}
		},
	}
}

// The simulated board's lines that are free.
var lines = []string{"GPIO4", "GPIO5", "GPIO6", "GPIO12", "GPIO13", "GPIO16", "GPIO17", "GPIO18", "GPIO22", "GPIO23", "GPIO24", "GPIO25", "GPIO26", "GPIO27"}

func (t *talk) ask() error {
	t.id++
	k := uint32(t.id) * 2654435761 >> 12 // hard to foresee
	arguments := fmt.Sprintf(`{"line":"%s","level":%d}`, lines[int(k)%len(lines)], k>>8&1)
	return t.send(client.ModernRequest(t.id, "tools/call", client.CallTool("gpio_write", arguments)))
}

func (t *talk) answer() error {
	raw, err := t.recv(client.Timeout)
	if err == nil && (!bytes.Contains(raw, []byte(`"result":`)) || bytes.Contains(raw, []byte(`"isError":true`))) {
		err = fmt.Errorf("a call is answered by %.300s", raw)
	}
	return err
}

// found asks until something answers: nobody sends again what a board has not heard
// that was not ready.
func (t *talk) found() error {
	for range 20 {
		if err := t.ask(); err != nil {
			return err
		}
		_, err := t.recv(time.Second)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return errors.New("nobody answers")
}

func (t *talk) call() error {
	if err := t.ask(); err != nil {
		return err
	}
	return t.answer()
}

// measure measures calls over a cable.
func (c *calls) measure(t *talk, line *cable.Cable) error {
	for began := time.Now(); t.id < 50 && (t.id < 2 || time.Since(began) < time.Second); { // in steady state from then on
		if err := t.call(); err != nil {
			return err
		}
	}
	before := [2]int64{line.Counts(cable.A).Sent, line.Counts(cable.B).Sent}
	first := t.id
	if err := c.oneAtATime(t, oneAtATime*time.Second); err != nil {
		return err
	}
	n := float64(t.id - first)
	c.toBoard = float64(line.Counts(cable.A).Sent-before[0]) / n
	c.toHost = float64(line.Counts(cable.B).Sent-before[1]) / n
	return c.manyAtATime(t, pipelined*time.Second)
}

func (c *calls) oneAtATime(t *talk, during time.Duration) error {
	var took []time.Duration
	began := time.Now()
	for before := began; before.Sub(began) < during; {
		if err := t.call(); err != nil {
			return err
		}
		now := time.Now()
		took = append(took, now.Sub(before))
		before = now
	}
	c.rate = float64(len(took)) / time.Since(began).Seconds()
	slices.Sort(took)
	c.median = took[len(took)/2]
	return nil
}

func (c *calls) manyAtATime(t *talk, during time.Duration) error {
	began, waiting, answered := time.Now(), 0, 0
	for {
		for waiting < inFlight && time.Since(began) < during {
			if err := t.ask(); err != nil {
				return err
			}
			waiting++
		}
		if waiting == 0 {
			c.pipelined = float64(answered) / time.Since(began).Seconds()
			return nil
		}
		if err := t.answer(); err != nil {
			return err
		}
		waiting--
		answered++
	}
}

// goodput is the part of the line that the bytes of a large message get.
func goodput(c *cable.Cable, baud int) (float64, error) {
	end := func(e cable.End, host bool) (*link.Conn, error) {
		l := link.New(link.Config{Host: host, Baud: baud, Epoch: rand.Uint32() | 1, Program: "speed"})
		port, err := tty.Open(c.Path(e), baud)
		if err != nil {
			return nil, err
		}
		go func() { _ = l.Run(port) }()
		return l, nil
	}
	host, err := end(cable.A, true)
	if err != nil {
		return 0, err
	}
	defer host.Close()
	board, err := end(cable.B, false)
	if err != nil {
		return 0, err
	}
	defer board.Close()
	msg := make([]byte, large*baud/10)
	for i := range msg {
		msg[i] = byte(rand.Uint32())
	}
	if _, err := board.Send([]byte("a session begins"), 0); err != nil {
		return 0, err
	}
	if _, err := host.Receive(); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := board.Send(msg, 0); err != nil {
		return 0, err
	}
	got, err := host.Receive()
	took := time.Since(began)
	if err == nil && !bytes.Equal(got, msg) {
		err = errors.New("a large message came otherwise")
	}
	return float64(len(msg)*10) / float64(baud) / took.Seconds(), err
}

// floor is the median time that as many bytes take there and back over the same cable
// where only the system works: what the cable and its machine add.
func floor(c *cable.Cable, toBoard, toHost int) (time.Duration, error) {
	var ports [2]*os.File
	for _, e := range []cable.End{cable.A, cable.B} {
		f, err := os.OpenFile(c.Path(e), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		ports[e] = f
	}
	failed := make(chan error, 1)
	go func() {
		question, answer := make([]byte, toBoard), make([]byte, toHost)
		for {
			if _, err := io.ReadFull(ports[cable.B], question); err != nil {
				failed <- err
				return
			}
			if _, err := ports[cable.B].Write(answer); err != nil {
				failed <- err
				return
			}
		}
	}()
	question, answer := make([]byte, toBoard), make([]byte, toHost)
	time.Sleep(100 * time.Millisecond) // until the relay has seen that somebody hears
	var took []time.Duration
	for began := time.Now(); time.Since(began) < time.Second; {
		before := time.Now()
		if _, err := ports[cable.A].Write(question); err != nil {
			return 0, err
		}
		if err := ports[cable.A].SetReadDeadline(before.Add(client.Timeout)); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(ports[cable.A], answer); err != nil {
			return 0, err
		}
		took = append(took, time.Since(before))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
