package device

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSweep(t *testing.T) {
	late := func(addr uint16) error {
		return &Error{Subject: fmt.Sprintf("i2c-1 address 0x%02x", addr), Kind: ErrTimeout, Reason: "timed out (ETIMEDOUT)"}
	}
	for _, tt := range []struct {
		name        string
		first, last uint16
		devices     []uint16
		owned       []uint16
		empty       Answer // of an address with neither
		stopAfter   int    // so many were asked; 0: never
		found       []uint16
		asked       int // at most
		failed      string
	}{
		{"finds what answers and what is owned", 0x08, 0x77, []uint16{0x50, 0x20}, []uint16{0x68}, Silent, 0, []uint16{0x20, 0x50, 0x68}, 112, ""},
		{"finds nothing on an empty bus", 0x08, 0x77, nil, nil, Silent, 0, nil, 112, ""},
		{"goes on where empty addresses time out", 0x08, 0x77, []uint16{0x50, 0x29}, []uint16{0x68}, Stuck, 0, []uint16{0x29, 0x50, 0x68}, 112, ""},
		{"keeps what it found when it is stopped", 0x08, 0x77, []uint16{0x50, 0x0a}, nil, Stuck, 20, []uint16{0x0a}, 20, "scan cancelled before 0x1c"},
		{"keeps what is further up when it is stopped", 0x08, 0x77, []uint16{0x48}, nil, Stuck, 20, []uint16{0x48}, 20, "scan cancelled before"},
		{"gives a jammed bus up after a few", 0x08, 0x77, nil, []uint16{0x68}, Stuck, 0, []uint16{0x68}, 12,
			"i2c-1: no device answers and 11 addresses in a row gave no proper answer (i2c-1 address 0x40: timed out (ETIMEDOUT)); the bus is jammed"},
		{"says jammed when it is stopped on a jammed bus", 0x08, 0x77, nil, nil, Stuck, 6, nil, 6, "no device answers and 6 addresses"},
		{"runs a short range to its end", 0x46, 0x52, []uint16{0x51}, []uint16{0x48}, Stuck, 0, []uint16{0x48, 0x51}, 13, ""},
		{"says so of a short range where all is stuck", 0x10, 0x1f, nil, nil, Stuck, 0, nil, 16, "16 addresses in a row"},
		{"takes one address", 0x76, 0x76, []uint16{0x76}, nil, Silent, 0, []uint16{0x76}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := map[uint16]int{}
			n, done := 0, 0
			found, err := Sweep("i2c-1", tt.first, tt.last, []Occupant{{Addr: 1}}, Scanning{
				Stop: func() bool { return tt.stopAfter > 0 && n >= tt.stopAfter },
				Progress: func(d, total int) {
					if d != done+1 || total != int(tt.last-tt.first)+1 {
						t.Errorf("progress %d of %d after %d", d, total, done)
					}
					done = d
				},
			}, func(addr uint16) (string, Answer, error) {
				n++
				asked[addr]++
				if addr < tt.first || addr > tt.last || asked[addr] > 1 {
					t.Errorf("0x%02x was asked %d times", addr, asked[addr])
				}
				switch {
				case slices.Contains(tt.devices, addr):
					return "", Found, nil
				case slices.Contains(tt.owned, addr):
					return "driver", Owned, nil
				case tt.empty == Stuck:
					return "", Stuck, late(addr)
				}
				return "", Silent, nil
			})
			var addrs []uint16
			for _, o := range found[1:] {
				addrs = append(addrs, o.Addr)
				if (o.Driver != "") != slices.Contains(tt.owned, o.Addr) {
					t.Errorf("%+v", o)
				}
			}
			if !slices.Equal(addrs, tt.found) || n > tt.asked {
				t.Errorf("found %#x after %d, want %#x after %d at most", addrs, n, tt.found, tt.asked)
			}
			if tt.failed == "" && err != nil || tt.failed != "" && (err == nil || !strings.Contains(err.Error(), tt.failed)) {
				t.Errorf("error %v, want %q", err, tt.failed)
			}
		})
	}
}

func TestSweepEndsWithTheBus(t *testing.T) {
	gone := &Error{Subject: "i2c-1", Kind: ErrUnplugged}
	n := 0
	_, err := Sweep("i2c-1", 0x08, 0x77, nil, Scanning{}, func(uint16) (string, Answer, error) { n++; return "", Silent, gone })
	if !errors.Is(err, ErrUnplugged) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}
