package link

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The session that the package's documentation shows, as this package writes it.
func TestTheDocumentedBytes(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	host := newEnd(Config{Host: true, Baud: 115200, Epoch: 0x01020304, Max: 4 << 20, Program: "h 1"})
	board := newEnd(Config{Baud: 115200, Epoch: 0x0A0B0C0D, Max: 4 << 20, Program: "b 1", Name: "pump"})
	host.speaks, board.speaks = 0, 0 // messages as they are
	host.opened(0)
	board.opened(0)
	now := time.Duration(0)
	show := func(what string, p []byte) {
		t.Helper()
		dump := ""
		for i := 0; i < len(p); i += 16 {
			dump += fmt.Sprintf("//\t% x\n", p[i:min(i+16, len(p))])
		}
		if !strings.Contains(string(doc), dump) {
			t.Errorf("doc.go does not show %s:\n%s", what, dump)
		}
	}
	pass := func(what string, from, to *end) {
		t.Helper()
		p := from.transmit(nil, now)
		show(what, p)
		to.receive(p, now)
		now += 20e6
	}
	pass("the hello", host, board)
	pass("the answer", board, host)
	pass("the ping", host, board)
	pass("the pong", board, host)
	host.send([]byte("on"), 0)
	pass("a message", host, board)
	board.send([]byte("ok"), 0)
	pass("its answer", board, host)

	host.send(bytes.Repeat([]byte("0123456789"), 5), 0)
	host.transmit(nil, now)
	host.slots[1].losses = wholeTimes
	host.lose(&host.slots[1])
	pass("the first piece", host, board)
	now += 30e6
	pass("the last", host, board)
	if got := take(board, now); len(got) != 2 || len(got[1]) != 50 {
		t.Errorf("the board got %q", got)
	}
	p := host.goodbye(nil)
	show("the goodbye", p[:len(p)/byes])
	board.receive(p, now)
	if board.session {
		t.Error("the board's session goes on")
	}
}
