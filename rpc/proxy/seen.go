package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"boardhand/frame/link"
)

// seen is what was seen of the ports, for the sentence that says why no board is
// there.
type seen struct {
	mu      sync.Mutex
	looks   []*look // of this round
	before  []*look // of the one before, which tells more until this one has got far
	none    bool    // there is no port at all
	listErr error
}

// look is what was seen at one port and rate.
type look struct {
	path string
	baud int

	mu    sync.Mutex
	peer  link.Peer
	known bool      // a board has answered
	since time.Time // of its silence; zero while it is up
	err   error     // of the port, or of the link with a board
	bytes int       // stray ones
	plain int       // those of them that are text
	tail  []byte    // the last of them
	echo  bool      // what was sent came back
}

// maxTail is how many stray bytes are looked at.
const maxTail = 256

// begin begins a round.
func (s *seen) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.looks = s.looks, nil
}

func (s *seen) list(paths []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.none, s.listErr = len(paths) == 0, err
}

func (s *seen) look(path string, baud int) *look {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &look{path: path, baud: baud}
	s.looks = append(s.looks, l)
	return l
}

// answer takes that a board has answered; true: for the first time.
func (l *look) answer(p link.Peer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.known
	l.known, l.peer, l.since, l.err = true, p, time.Time{}, nil
	return first
}

func (l *look) silent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = time.Now()
	}
}

func (l *look) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *look) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = nil
}

func (l *look) echoed(packets uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.echo = packets > 0
}

func (l *look) met() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

func (l *look) board() link.Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peer
}

// stray takes bytes outside of packets.
func (l *look) stray(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += len(p)
	for _, c := range p {
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t' || c == '\x1b' {
			l.plain++
		}
	}
	l.tail = append(l.tail, p[max(0, len(p)-maxTail):]...)
	l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-maxTail):]...)
}

// Why says in a sentence why no board is there, and what to do.
func (d *Dialer) Why() string {
	s := &d.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := d.current.Load(); f != nil {
		return f.look.lost()
	}
	best, rank := "", silence+1
	for _, looks := range [][]*look{s.looks, s.before} {
		for _, l := range looks {
			if text, r := l.why(); r < rank {
				best, rank = text, r
			}
		}
	}
	switch {
	case best != "" && rank == silence:
		return d.silence(s)
	case best != "":
		return best
	case s.listErr != nil:
		return "no board was found: the serial ports could not be listed: " + s.listErr.Error()
	case d.Path == "" && s.none:
		return "no board was found: there is no USB serial port; plug in the cable, or name the port"
	}
	return "no board has answered yet"
}

// silence is of lines on which nothing at all was heard.
func (d *Dialer) silence(s *seen) string {
	var where []string
	rates := 0
	for _, looks := range [][]*look{s.looks, s.before} {
		for _, l := range looks {
			rates++
			if !strings.Contains(strings.Join(where, ", ")+", ", l.path+", ") {
				where = append(where, l.path)
			}
		}
	}
	at := strings.Join(where, ", ")
	switch {
	case d.Baud != 0:
		at += " at " + strconv.Itoa(d.Baud) + " baud"
	case rates > 1:
		at += " at any usual baud"
	}
	return "no board answers on " + at + `: the line is silent; check that "boardhand serve --serial" runs on the board, ` +
		"with the same baud, that TX goes to RX and RX to TX, and that ground is connected"
}

// What was seen at a port, the most telling first.
const (
	version = iota
	speaks
	login
	shell
	words
	echo
	noise
	fault
	silence
)

// why says what was seen at one port.
func (l *look) why() (text string, rank int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := "no board answers on " + l.path + " at " + strconv.Itoa(l.baud) + " baud: "
	var other *link.VersionError
	switch {
	case errors.As(l.err, &other):
		return l.path + ": " + l.err.Error(), version
	case bytes.Contains(l.tail, []byte(`"jsonrpc"`)):
		return at + "what is there speaks JSON without the link: an older boardhand, or another program; bring both ends to the same release", speaks
	case bytes.Contains(l.tail, []byte("login:")), bytes.Contains(l.tail, []byte("assword:")):
		return at + `a login prompt is there; on the board, take the port from it ("systemctl disable --now serial-getty@PORT") and start ` +
			`"boardhand serve --serial", for which "boardhand setup systemd" prints the unit`, login
	case l.bytes > 0 && l.prompt():
		return at + `a shell is there; end it, and let "boardhand serve --serial" have the port, for which "boardhand setup systemd" prints the unit`, shell
	case l.bytes >= 8 && l.plain*10 >= l.bytes*9:
		return at + "there is text, which ends in " + l.lastLine() + `; is the board starting? When it has, "boardhand serve --serial" must run there`, words
	case l.echo:
		return at + "what is sent comes back; TX and RX of one end may be joined, or the other end echoes", echo
	case l.bytes > 0:
		return fmt.Sprintf("%sthere is noise, %d bytes that are no text; is the baud the board's? Give it by --baud, and check the ground", at, l.bytes), noise
	case l.err != nil:
		return "no board was found: " + l.err.Error(), fault
	}
	return at + "the line is silent", silence
}

// prompt says that the tail ends as a shell's prompt does. The caller holds mu.
func (l *look) prompt() bool {
	t := string(l.tail)
	return l.plain*10 >= l.bytes*9 && (strings.HasSuffix(t, "$ ") || strings.HasSuffix(t, "# "))
}

// lastLine is the end of the tail, quoted. The caller holds mu.
func (l *look) lastLine() string {
	lines := strings.FieldsFunc(string(l.tail), func(r rune) bool { return r == '\n' || r == '\r' })
	last := ""
	if len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	return strconv.QuoteToASCII(last[max(0, len(last)-60):])
}

// lost is of a board that has answered before.
func (l *look) lost() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := "the board"
	if l.peer.Name != "" {
		name += " (" + l.peer.Name + ")"
	}
	switch {
	case l.err != nil:
		return name + " cannot be reached: " + l.err.Error()
	case !l.since.IsZero():
		return fmt.Sprintf("%s on %s has not answered for %.0f s; it may be starting, or the cable be out", name, l.path, time.Since(l.since).Seconds())
	}
	return name + " on " + l.path + " is just coming back"
}
