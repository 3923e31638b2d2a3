package device

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFrameCheckSaysWhatIsAllowed(t *testing.T) {
	for want, f := range map[string]CANFrame{
		"": {ID: MaxCANID, Len: 8},
		"CAN frame 800: the identifier has more than 11 bits; standard ones go to 7ff; write an extended one with eight digits": {ID: 0x800},
		"CAN frame 20000000: the identifier has more than 29 bits; extended ones go to 1fffffff":                                {ID: 1 << 29, Extended: true},
		"CAN frame 001: 9 bytes; a classic frame has at most 8, an FD frame 64":                                                 {ID: 1, Len: 9},
		"CAN frame 001: no FD frame has 13 bytes; 0 to 8, 12, 16, 20, 24, 32, 48 and 64 are allowed":                            {ID: 1, FD: true, Len: 13},
		"CAN frame 001: no FD frame has 255 bytes; 0 to 8, 12, 16, 20, 24, 32, 48 and 64 are allowed":                           {ID: 1, FD: true, Len: 255},
		"CAN frame 001: FD has no remote frames; send a classic one":                                                            {ID: 1, FD: true, Remote: true},
		"CAN frame 001: a classic frame has one bit rate; send an FD frame":                                                     {ID: 1, BRS: true},
		"CAN frame 001: an error frame cannot be sent; send data":                                                               {ID: 1, Error: true},
	} {
		got := ""
		if err := f.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestErrorFramesInWords(t *testing.T) {
	for want, f := range map[string]CANFrame{
		"":                                      {ID: CANErrNoAck},
		"no acknowledge: no other node answers": {Error: true, ID: 0x020},
		"BUS-OFF: too many errors have taken the controller off the bus":               {Error: true, ID: 0x040},
		"ERROR-PASSIVE: too many errors while sending":                                 {Error: true, ID: 0x204, Data: [64]byte{1: 0x20, 6: 128}},
		"a controller problem":                                                         {Error: true, ID: 0x004},
		"bit stuffing was broken: is the bit rate right?, while sending (in the data)": {Error: true, ID: 0x088, Data: [64]byte{2: 0x84, 3: 0x0a}},
		"a protocol error": {Error: true, ID: 0x008},
		"lost the arbitration to another node at bit 5":                 {Error: true, ID: 0x002, Data: [64]byte{5}},
		"lost the arbitration to another node":                          {Error: true, ID: 0x002},
		"a transceiver fault, CANH no wire, CANL shorted to ground":     {Error: true, ID: 0x010, Data: [64]byte{4: 0x74}},
		"a transceiver fault":                                           {Error: true, ID: 0x010, Data: [64]byte{4: 0xff}},
		"an error on the bus":                                           {Error: true, ID: 0x080},
		"the driver gave up sending; the controller was restarted":      {Error: true, ID: 0x101},
		"error counters: sent 96, received 3":                           {Error: true, ID: 0x200, Data: [64]byte{6: 96, 7: 3}},
		"error class 0x400":                                             {Error: true, ID: 0x400},
		"error class 0x0":                                               {Error: true},
		"no acknowledge: no other node answers; error class 0x1ffffc00": {Error: true, ID: 0x1ffffc20},
	} {
		if got := f.Trouble(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestARingKeepsTheNewestAndCountsTheRest(t *testing.T) {
	var r CANRing
	for i := range CANRingFrames + 100 {
		r.Put(&CANFrame{ID: uint32(i)}, time.Unix(int64(i), 0))
	}
	frames, taken, err := r.Take(CANWanted{From: 50, Count: 3}, nil)
	if err != nil || len(frames) != 3 || frames[0].Offset != 100 || frames[0].ID != 100 || taken != (CANTaken{103, 50}) {
		t.Errorf("%+v, %+v, %v", frames, taken, err)
	}
	frames, taken, _ = r.Take(CANWanted{From: 103, Count: CANRingFrames}, frames[:0])
	if len(frames) != CANRingFrames-3 || taken != (CANTaken{CANRingFrames + 100, 0}) {
		t.Errorf("%d, %+v", len(frames), taken)
	}
	r.Lose(7)
	for from, want := range map[uint64]CANTaken{
		CANRingFrames + 100: {CANRingFrames + 107, 7},
		CANRingFrames + 105: {CANRingFrames + 107, 2},
		CANFromNow:          {CANRingFrames + 107, 0},
		1 << 50:             {CANRingFrames + 107, 0}, // of an earlier recording
	} {
		if frames, taken, _ := r.Take(CANWanted{From: from, Count: 1}, nil); len(frames) != 0 || taken != want {
			t.Errorf("from %d: %+v, %+v", from, frames, taken)
		}
	}
	f := CANFrame{ID: 1}
	if n := testing.AllocsPerRun(100, func() { r.Put(&f, time.Time{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestATakeOfAClosedRingGivesWhatIsThereFirst(t *testing.T) {
	var r CANRing
	r.Put(&CANFrame{}, time.Time{})
	gone := errors.New("gone")
	r.Close(gone)
	r.Close(errors.New("again"))
	if frames, _, err := r.Take(CANWanted{Count: 2, Deadline: time.Now().Add(time.Hour)}, nil); len(frames) != 1 || err != nil {
		t.Errorf("%+v, %v", frames, err)
	}
	if frames, _, err := r.Take(CANWanted{From: 1, Count: 2}, nil); len(frames) != 0 || err != gone {
		t.Errorf("%+v, %v", frames, err)
	}
}

func TestSeveralTakeWhatOnePuts(t *testing.T) {
	var r CANRing
	var wg sync.WaitGroup
	const n = 500
	for range 4 {
		wg.Go(func() {
			from := uint64(0)
			for from < n {
				frames, taken, err := r.Take(CANWanted{From: from, Count: 7, Deadline: time.Now().Add(time.Minute)}, nil)
				for i, f := range frames {
					if f.Offset != from+uint64(i) || f.ID != uint32(f.Offset) {
						t.Errorf("%+v at %d", f, from)
					}
				}
				if err != nil || taken.Lost != 0 {
					t.Error(taken, err)
				}
				from = taken.Next
				if left := n - from; left < 7 {
					return
				}
			}
		})
	}
	for i := range n {
		r.Put(&CANFrame{ID: uint32(i)}, time.Time{})
	}
	wg.Wait()
}

func TestLinkInWordsHasNoStateThatIsUnknown(t *testing.T) {
	l := CANLink{Name: "slcan0", Kind: "slcan", Up: true, State: CANStateUnknown}
	if got := l.String(); got != "up" {
		t.Error(got)
	}
	l.Up = false
	if got := l.String(); !strings.HasSuffix(got, "sudo ip link set slcan0 up") {
		t.Error(got)
	}
	if got := CANState(200).String(); got != "state unknown" {
		t.Error(got)
	}
}
