package command

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"boardhand/frame/link"
	"boardhand/frame/stdio"
	"boardhand/frame/tty"
	"boardhand/rpc/line"
	"boardhand/rpc/proxy"
	"boardhand/tools/cli"
)

// defaultBaud is a board's where none is given, and what a host tries first.
const defaultBaud = 115200

// serveSerial serves whoever speaks on a serial port until the process is told to
// stop. It does not watch its parent, which for a service is init. first is the board,
// open; it is opened anew when a connection has ended, so that what one has switched
// on ends with it, and outputs are at rest in between.
func serveSerial(f cli.Flags, first *session, stop <-chan os.Signal, stderr io.Writer) int {
	if f.Baud == 0 {
		f.Baud = defaultBaud
	}
	speed := f.Baud
	if strings.HasPrefix(filepath.Base(f.Serial), "ttyGS") { // a USB gadget's, which has none
		speed = 0
	}
	log := newStderrLog(stderr)
	defer log.close()
	all := &sessions{now: first, open: func() (*session, error) { return open(f, true, log) }, log: log}
	defer all.close() // where it fails inside
	go func() {
		<-stop
		all.close()
		log.close()
		os.Exit(cli.ExitOK)
	}()
	if err := all.begin(); err != nil {
		return cli.Fail(log, cli.ExitUsage, err.Error())
	}
	l := line.New(line.Config{
		Open:  func() (link.Port, error) { return ports{}.Open(f.Serial, f.Baud) },
		Serve: all.serve,
		Lost:  all.lost, Silent: all.silence, Grace: all.grace,
		Baud: speed, Epoch: rand.Uint32() | 1, Program: program(), Name: first.info.Model, Max: f.MaxMessage,
		Log: func(text string) { cli.Say(log, "boardhand", text) },
	})
	log.also(l)
	if first.info.Simulated {
		first.warnSimulated(log)
	}
	if err := l.Run(); err != nil {
		return cli.Fail(log, cli.ExitFailed, err.Error())
	}
	return cli.ExitOK
}

// program is what the ends of a link tell each other.
func program() string { return "boardhand " + version }

// ports are the serial ports of this machine.
type ports struct{}

// List gives those that are USB devices, which a cable to a board is.
func (ports) List() ([]string, error) {
	all, err := tty.List()
	var usb []string
	for i := range all {
		if all[i].USB {
			usb = append(usb, all[i].Path)
		}
	}
	return usb, err
}

func (ports) Open(path string, baud int) (link.Port, error) {
	p, err := tty.Open(path, baud)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (ports) Reopen(ctx context.Context, was link.Port, baud int) (link.Port, error) {
	p, err := tty.Reopen(ctx, was.(*tty.Port).Info(), baud)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// dialer finds the board at the end of the cable that the flags name. The lists it
// keeps are to be closed.
func dialer(f cli.Flags, log io.Writer) *proxy.Dialer {
	dir := ""
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "boardhand", "lists")
	}
	return &proxy.Dialer{
		Ports: ports{}, Path: f.Serial, Baud: f.Baud, Program: program(), Max: f.MaxMessage,
		Lists: proxy.OpenLists(dir),
		BoardLog: func(text []byte) {
			cli.Say(log, "board", strings.TrimPrefix(string(text), "boardhand: "))
		},
		Log: func(text string) { cli.Say(log, "boardhand", text) },
	}
}

// serveOver lets a proxy serve over what a dialer finds.
func serveOver(f cli.Flags, d *proxy.Dialer) *proxy.Proxy {
	wait := proxy.DefaultWait
	if f.Baud == 0 {
		wait = proxy.SearchWait
	}
	p := proxy.New(proxy.Config{Max: f.MaxMessage, Values: f.MaxValues, Wait: wait, Why: d.Why, Log: d.Log})
	d.Up = func(l *link.Conn, peer link.Peer) { p.Up(l, peer) }
	d.Down, d.Ended, d.Lost = p.Down, p.Ended, p.Lost
	return p
}

// cable is the board at the end of a cable, which is looked for and kept, behind a proxy.
type cable struct {
	proxy  *proxy.Proxy
	dialer *proxy.Dialer
	hangUp func() // ends the link: the board's end takes its client for gone, and its outputs go to rest
}

func plug(f cli.Flags, log io.Writer) *cable {
	d := dialer(f, log)
	c := &cable{proxy: serveOver(f, d), dialer: d}
	c.dial()
	return c
}

func (c *cable) dial() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = c.dialer.Run(ctx); close(ended) }()
	c.hangUp = func() { cancel(); <-ended }
}

// redial ends the link and begins it anew, at the port where the board was.
func (c *cable) redial() {
	c.hangUp()
	if state, ok := c.dialer.State(); ok {
		c.dialer.Path = state.Path
	}
	c.dial()
}

// close ends the link for good.
func (c *cable) close() {
	c.hangUp()
	c.dialer.Lists.Close()
}

// connect is an MCP server on standard input and output whose work a board does at
// the other end of a cable.
func connect(f cli.Flags, stderr io.Writer) int {
	stop, watching := watchSignals()
	<-watching
	gone := stdio.ParentGone()
	log := newStderrLog(stderr)
	defer log.close()
	c := plug(f, log)
	defer c.close()

	served := make(chan error, 1)
	stream := stdio.Open(0, 1, nil)
	go func() { served <- c.proxy.Serve(stream, stream) }()
	select {
	case err := <-served:
		if err != nil {
			return cli.Fail(log, cli.ExitFailed, "the client is gone: "+err.Error())
		}
	case <-stop:
	case <-gone:
	}
	return cli.ExitOK
}

// overCable runs a command with the board at the other end of a cable.
func overCable(f cli.Flags, stderr io.Writer, command func(b *cli.Remote) int) int {
	return withDialer(f, stderr, func(_ *proxy.Dialer, b *cli.Remote) int { return command(b) })
}

func withDialer(f cli.Flags, stderr io.Writer, command func(d *proxy.Dialer, b *cli.Remote) int) int {
	stop, watching := watchSignals()
	<-watching
	log := newStderrLog(stderr)
	defer log.close()
	d := dialer(f, log)
	defer d.Lists.Close()
	d.Once = true
	p := serveOver(f, d)
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	go func() { _ = p.Serve(in, out) }()

	ctx, cancel := context.WithCancel(context.Background())
	found := make(chan error, 1)
	go func() { found <- d.Run(ctx) }()
	done := make(chan int, 1)
	go func() { done <- command(d, cli.NewRemote(toProxy, fromProxy, version)) }()
	code := cli.ExitFailed
	select {
	case code = <-done:
	case <-stop:
	case err := <-found:
		cancel()
		return cli.Fail(log, cli.ExitFailed, err.Error())
	}
	cancel()
	<-found
	return code
}

// How long a line is looked at, and how often it is asked.
const (
	linkCalls = 20
	linkEvery = 50 * time.Millisecond
)

// showLink shows the state of a serial line.
func showLink(f cli.Flags, stdout, stderr io.Writer) int {
	return withDialer(f, stderr, func(d *proxy.Dialer, b *cli.Remote) int {
		var s cli.LinkState
		if err := b.Ping(); err != nil { // the first finds the board
			return cli.Fail(stderr, cli.ExitFailed, err.Error())
		}
		for range linkCalls {
			time.Sleep(linkEvery)
			start := time.Now()
			if err := b.Ping(); err != nil {
				return cli.Fail(stderr, cli.ExitFailed, err.Error())
			}
			s.Calls = append(s.Calls, time.Since(start))
		}
		state, ok := d.State()
		if !ok {
			return cli.Fail(stderr, cli.ExitFailed, d.Why())
		}
		s.Path, s.Peer, s.Stats = state.Path, state.Peer, state.Stats
		return cli.Link(&s, f.JSON, stdout, stderr)
	})
}

// stderrLog writes lines to standard error, and to wherever else, without making
// anybody wait for who reads them: what finds too many waiting is dropped and counted.
type stderrLog struct {
	lines chan string
	ended chan struct{}
	once  sync.Once

	mu   sync.Mutex
	more io.Writer
	lost int
}

// stderrLines is how many lines may wait; leaveWait is how long close waits for them.
const (
	stderrLines = 256
	leaveWait   = 200 * time.Millisecond
)

func newStderrLog(stderr io.Writer) *stderrLog {
	j := &stderrLog{lines: make(chan string, stderrLines), ended: make(chan struct{})}
	go func() {
		defer close(j.ended)
		for text := range j.lines {
			if text == "" {
				return
			}
			_, _ = io.WriteString(stderr, text)
		}
	}()
	return j
}

// also writes to w too, which must not wait, from now on.
func (j *stderrLog) also(w io.Writer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.more = w
}

// Write takes whole lines.
func (j *stderrLog) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.more != nil {
		_, _ = j.more.Write(p)
	}
	text := string(p)
	if j.lost > 0 {
		text = "boardhand: " + strconv.Itoa(j.lost) + " lines were dropped, for nobody read them\n" + text
	}
	select {
	case j.lines <- text:
		j.lost = 0
	default:
		j.lost++
	}
	return len(p), nil
}

// close waits a moment until what was written has left.
func (j *stderrLog) close() {
	j.once.Do(func() {
		late := time.After(leaveWait)
		select {
		case j.lines <- "":
		case <-late:
			return
		}
		select {
		case <-j.ended:
		case <-late:
		}
	})
}
