package proxy

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"boardhand/frame/link"
)

// Ports opens serial ports.
type Ports interface {
	// List gives the paths of the ports at which a board may be.
	List() ([]string, error)
	Open(path string, baud int) (link.Port, error)
	// Reopen opens the device of a port again that was open and has failed, wherever
	// it is now. It waits for it until ctx is done.
	Reopen(ctx context.Context, was link.Port, baud int) (link.Port, error)
}

// Dialer finds a board at the end of a cable and keeps the link to it, for a Proxy or
// for whoever has the messages go elsewhere.
type Dialer struct {
	Ports   Ports
	Path    string // of the port; empty: any at which a board answers
	Baud    int    // in bits per second; 0: to be found
	Program string // told to the board
	Max     int    // bytes of a message; link.DefaultMax
	Lists   *Lists // of boards that were met before, or nil
	Once    bool   // look once at each port, and give up

	Up    func(l *link.Conn, p link.Peer) // as link.Config's, with the link that it is
	Down  func()
	Ended func(why error)
	Lost  func(ticket uint64, o link.Outcome)
	// BoardLog takes a line of the board's log, and Log one of the dialer's own. They
	// are called from any goroutine; the slice is valid during the call.
	BoardLog func(line []byte)
	Log      func(line string)

	seen    seen
	said    bool // which ports are looked at
	current atomic.Pointer[found]
}

// The rates that are tried where none is given, the most usual first.
var rates = []int{115200, 921600, 1500000, 460800, 230400, 57600, 38400, 19200, 9600}

// SearchWait is how long a request waits for a board whose rate is to be found: one
// port is looked at within it.
const SearchWait = 8 * time.Second

// The times that the program chose.
const (
	firstProbe = 1200 * time.Millisecond // for an answer at the first rate: a board may be about to resume
	probe      = 700 * time.Millisecond  // at the others
	again      = time.Second             // before a port that failed is opened again
	lastAgain  = 15 * time.Second        // before all ports are looked at again: opening one can reset what is behind it
)

// Run finds the board and keeps the link until ctx is done, and returns nil then. With
// Once it returns why there is none when it has looked everywhere.
func (d *Dialer) Run(ctx context.Context) error {
	if d.Log == nil {
		d.Log = func(string) {}
	}
	longest := 5 * time.Second
	if d.Path == "" {
		longest = lastAgain
	} else if d.Baud != 0 {
		longest = again
	}
	said := ""
	for pause := again; ctx.Err() == nil; pause = min(2*pause, longest) {
		paths := []string{d.Path}
		if d.Path == "" {
			paths = d.list()
		}
		d.seen.begin()
		for _, path := range paths {
			if d.try(ctx, path) {
				return nil // it was kept until the end
			}
		}
		if d.Once {
			return errors.New(d.Why())
		}
		if why := d.Why(); why != said {
			d.Log(why + "; trying on")
			said = why
		}
		d.await(ctx, len(paths), pause)
	}
	return nil
}

// list gives the ports at which a board may be.
func (d *Dialer) list() []string {
	paths, err := d.Ports.List()
	d.seen.list(paths, err)
	if len(paths) > 0 && !d.said {
		d.said = true
		d.Log("looking for a board at " + strings.Join(paths, ", ") + "; opening a port resets some boards, name one to spare the others")
	}
	return paths
}

// await waits before the next round, less long where another port appears.
func (d *Dialer) await(ctx context.Context, ports int, pause time.Duration) {
	for end := time.Now().Add(pause); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
		if d.Path == "" {
			if now, err := d.Ports.List(); err == nil && len(now) > ports {
				return
			}
		}
	}
}

// try looks for a board at one port, and keeps the link where there is one; true:
// until ctx was done.
func (d *Dialer) try(ctx context.Context, path string) bool {
	bauds := rates
	if d.Baud != 0 {
		bauds = []int{d.Baud}
	}
	for i, baud := range bauds {
		port, err := d.Ports.Open(path, baud)
		if err != nil {
			d.seen.look(path, baud).fault(err)
			if i > 0 {
				continue // a rate that the port does not have
			}
			return false
		}
		patience := probe
		if i == 0 {
			patience = firstProbe
		}
		if d.Path != "" && d.Baud != 0 { // there is nothing else to try
			patience = 0
			if d.Once {
				patience = DefaultWait
			}
		}
		if d.work(ctx, port, path, baud, patience) || ctx.Err() != nil {
			return true
		}
	}
	return false
}

// work runs a link over an open port, and over the same device opened again where it
// fails; true: until ctx was done. It gives up after patience without an answer, if
// that is not 0, and where the port fails before the first answer.
func (d *Dialer) work(ctx context.Context, port link.Port, path string, baud int, patience time.Duration) bool {
	look := d.seen.look(path, baud)
	answered := make(chan struct{})
	c := d.conn(ctx, look, answered)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close()

	run := make(chan error, 1)
	go func() { run <- c.Run(port) }()
	var late <-chan time.Time
	if patience > 0 {
		late = time.After(patience)
	} else {
		hint := time.AfterFunc(DefaultWait, func() {
			if !look.met() {
				d.Log(d.Why() + "; trying on")
			}
		})
		defer hint.Stop()
	}
	for said := ""; ; {
		select {
		case <-answered:
			answered, late = nil, nil // a board: from now on it is waited for
			continue
		case <-late:
			_ = c.Close()
			<-run
			look.echoed(c.Stats().Echoes)
			return false
		case err := <-run:
			if ctx.Err() != nil {
				return true
			}
			look.fault(err)
			if late != nil {
				return false
			}
			if text := err.Error(); text != said {
				said = text
				d.Log(text + "; trying again")
			}
		}
		for {
			select {
			case <-ctx.Done():
				return true
			case <-time.After(again):
			}
			opened, err := d.Ports.Reopen(ctx, port, baud)
			if err == nil {
				port = opened
				look.opened()
				go func() { run <- c.Run(port) }()
				break
			}
			look.fault(err)
		}
	}
}

// conn makes the link of one attempt; answered is closed when a board answers first.
func (d *Dialer) conn(ctx context.Context, look *look, answered chan<- struct{}) *link.Conn {
	var c *link.Conn
	cfg := link.Config{
		Host: true, Baud: look.baud, Epoch: rand.Uint32() | 1, Program: d.Program, Max: d.Max,
		Up: func(p link.Peer) {
			if look.answer(p) {
				d.current.Store(&found{c, look})
				close(answered)
			}
			switch {
			case !p.New:
				d.Log("the board answers again")
			case !d.Once: // else who asked sees what the board says
				d.Log("connected to " + p.Name + " (" + p.Program + ") on " + look.path + " at " + strconv.Itoa(look.baud) + " baud")
			}
			if d.Up != nil {
				d.Up(c, p)
			}
		},
		Down: func() {
			look.silent()
			if ctx.Err() == nil { // else it is this end that leaves
				d.Log("the board is silent; waiting for it")
			}
			if d.Down != nil {
				d.Down()
			}
		},
		Ended: func(why error) {
			look.silent()
			d.Log(why.Error())
			if d.Ended != nil {
				d.Ended(why)
			}
		},
		Lost:  d.Lost,
		Log:   d.BoardLog,
		Stray: look.stray,
	}
	if d.Lists != nil {
		cfg.Known, cfg.Learn = d.Lists.Known, d.Lists.Learn
	}
	c = link.New(cfg)
	return c
}

// found is a link over which a board has answered.
type found struct {
	conn *link.Conn
	look *look
}

// State is what a Dialer knows of its line.
type State struct {
	Path  string // of the port
	Peer  link.Peer
	Stats link.Stats
}

// State tells how the line is; false: no board has answered yet, and Why says more.
func (d *Dialer) State() (State, bool) {
	f := d.current.Load()
	if f == nil {
		return State{}, false
	}
	return State{f.look.path, f.look.board(), f.conn.Stats()}, true
}
