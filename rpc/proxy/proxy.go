// Package proxy is the host's end of a serial link: to its client it is an MCP
// server on a pair of streams, and a board at the other end of a cable does the
// work. It knows of MCP only what it needs for a board that can vanish and come
// back: which request an answer belongs to, which may be asked twice, and what
// opens a session.
//
// # A board that comes and goes
//
// A request of the client is kept until it is answered. While no board is there it
// waits, up to Config.Wait, and is then answered by an error that says what was
// seen on the line. A short silence costs nothing: the link resumes. When a session
// is lost, because an end has restarted or the silence was long,
//
//   - what was certainly not delivered is sent again in the next session;
//   - so is what only reads (lists, resources, prompts, ping and the like);
//   - everything else is answered by an error that says that its outcome is not
//     known. Nothing that acts is ever sent twice.
//
// A session of MCP is opened in the client's name again: its initialize,
// notifications/initialized and logging/setLevel are replayed, and the answers
// swallowed.
//
// # What passes
//
// Messages pass as they are, ids byte for byte. What the client sends that is no
// JSON is answered here and does not cross the line. An answer goes in the framing
// of its request; an answer to nothing, as to a request that was cancelled, is
// dropped. A request of the board, such as a question to a person, belongs to its
// session: with that it is withdrawn, and an answer that comes later is dropped.
//
// What may act stays behind all that the client sent before it, so that calls are
// begun in the client's order as they are without a cable. What only reads may
// overtake a long message; answers come as they are ready.
//
// # Limits
//
// The proxy keeps at most maxOpen requests and Config.Max bytes of them, and stops
// reading the client above that; of the board's requests maxQuestions. It does not read the link faster than the client
// reads its answers.
package proxy

import (
	"io"
	"sync"
	"time"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc/wire"
)

// Link is what the proxy needs of a *link.Conn.
type Link interface {
	Send(msg []byte, f link.Flags) (ticket uint64, err error)
	Receive() (msg []byte, err error)
	Buffered() bool
}

// Config says how a Proxy works. All fields may be zero.
type Config struct {
	Max    int           // bytes of one message; link.DefaultMax
	Wait   time.Duration // how long a request waits for a board that is not there; DefaultWait
	Values int           // JSON values in one message of the client; wire.DefaultLimits
	// Why says in one sentence why no board is there, for the error that answers a
	// request. It is called from any goroutine.
	Why func() string
	// Log takes a line for a person, without its end, from any goroutine.
	Log func(line string)
}

// DefaultWait is how long a request waits for a board that is not there.
const DefaultWait = 5 * time.Second

// The bounds that the program chose.
const (
	maxOpen   = 256              // messages of the client that are not answered
	maxQuiet  = 60 * time.Second // after the client's end of input without an answer
	maxID     = 1 << 10          // bytes of an id, as the server has it
	maxValues = 1 << 20          // in a message of the board
	flushAt   = 32 << 10         // bytes of answers that wait for more
)

// Proxy serves one client. Its Up, Down, Ended and Lost are what a link tells.
type Proxy struct {
	cfg Config

	// The client's end.
	tree   wire.Tree // of the client's goroutine
	client sync.Mutex
	w      *frame.Writer
	gone   chan struct{} // closed when the client takes no more
	err    error         // why

	answer wire.Tree // of the receiving goroutine

	// sending is held while something is sent, and for the whole of a new session's
	// opening, so that nothing overtakes that. It is taken before mu, which is never
	// held across a wait.
	sending sync.Mutex

	mu        sync.Mutex
	changed   sync.Cond  // of all below
	open      []*message // in the order in which they came
	kept      int        // bytes of them
	line      line
	handshake handshake
	questions [][]byte   // ids of requests of the board that the client has not answered
	replies   [][]byte   // to such, while the board is silent
	unsettled int        // requests on their way that change what the session is
	mode      frame.Mode // of the client's last message
	last      time.Time  // when the board's last message came
	closed    bool
}

// New makes a proxy without a client and without a board.
func New(cfg Config) *Proxy {
	if cfg.Max <= 0 {
		cfg.Max = frame.DefaultMax
	}
	if cfg.Wait <= 0 {
		cfg.Wait = DefaultWait
	}
	if cfg.Why == nil {
		cfg.Why = func() string { return "no board answers" }
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	p := &Proxy{cfg: cfg, gone: make(chan struct{})}
	p.line.lost = make(map[uint64]link.Outcome)
	p.changed.L = &p.mu
	p.tree.Unescape, p.answer.Unescape = unescape, unescape
	return p
}

// Serve speaks with the client until in ends: then what was read is answered, and
// Serve returns nil. It returns out's error when the client takes no more. It is
// called once.
func (p *Proxy) Serve(in io.Reader, out io.Writer) error {
	p.client.Lock()
	p.w = frame.NewWriter(out)
	p.client.Unlock()
	go p.sessions()
	defer p.close()
	done := make(chan error, 1)
	go func() {
		err := p.readClient(frame.NewReader(in, p.cfg.Max))
		p.drain()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-p.gone:
		return p.err
	}
}

func (p *Proxy) readClient(in *frame.Reader) error {
	for {
		msg, mode, err := in.Next()
		switch bad := err.(type) {
		case nil:
			p.fromClient(msg, mode)
		case *frame.Error:
			p.reply(mode, appendError(nil, nil, wire.CodeParse, bad.Error(), ""))
		default:
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// drain waits until everything is answered, or the board says nothing for a long
// time: a subscription never ends.
func (p *Proxy) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	tick := time.AfterFunc(maxQuiet, p.wake)
	defer tick.Stop()
	for len(p.open) > 0 && !p.closed {
		left := maxQuiet - time.Since(p.last)
		if left <= 0 {
			return
		}
		tick.Reset(left)
		p.changed.Wait()
	}
}

func (p *Proxy) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// close ends the session goroutine, and whatever waits for room.
func (p *Proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.open {
		m.stopWaiting()
	}
	p.changed.Broadcast()
}

// reply writes one message to the client, and may wait for it.
func (p *Proxy) reply(mode frame.Mode, text []byte) { p.write(mode, text, false) }

// write writes one message to the client. With more, others follow at once, and
// all may leave together.
func (p *Proxy) write(mode frame.Mode, text []byte, more bool) {
	p.client.Lock()
	defer p.client.Unlock()
	if p.w == nil { // no client yet
		return
	}
	p.end(append(p.w.Begin(), text...), len(text), mode)
	p.flush(more)
}

// end ends a message whose last n bytes are its text.
func (p *Proxy) end(buf []byte, n int, mode frame.Mode) {
	if mode == frame.Newline { // in JSON a line's end is nothing but white space
		for i, c := range buf[len(buf)-n:] {
			if c == '\n' {
				buf[len(buf)-n+i] = ' '
			}
		}
	}
	p.w.End(buf, mode)
}

func (p *Proxy) flush(more bool) {
	if more && p.w.Len() < flushAt {
		return
	}
	if err := p.w.Flush(); err != nil && p.err == nil {
		p.err = err
		close(p.gone)
	}
}
