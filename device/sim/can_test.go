package sim

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

func TestCANContract(t *testing.T) {
	first := opened(t, Wiring{CAN: "up"})
	contract.CAN(t, func() device.Board { return first.Another() }, contract.CANWiring{Name: "can0", FD: true})
}

// taken is what can0 records in so long a time.
func taken(t *testing.T, b *Board, from uint64, wait time.Duration) ([]device.CANReceived, device.CANTaken) {
	t.Helper()
	frames, at, err := b.CAN().Receive("can0", device.CANWanted{From: from, Count: 10000, Deadline: time.Now().Add(wait)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return frames, at
}

func TestTheControlUnitSendsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{CAN: "up"})
		frames, at := taken(t, b, 0, 10*time.Second)
		count := map[uint32]int{}
		for _, f := range frames {
			count[f.ID]++
		}
		if count[engineID] != 100 || count[temperatureID] != 10 || at.Lost != 0 {
			t.Errorf("%v, lost %d", count, at.Lost)
		}
		again, _ := taken(t, b, 0, 0)
		for i := range frames {
			if again[i] != frames[i] {
				t.Errorf("%+v, then %+v", frames[i], again[i])
			}
		}
		one, _ := taken(t, opened(t, Wiring{CAN: "up"}), 0, time.Second)
		other, _ := taken(t, opened(t, Wiring{Seed: 1, CAN: "up"}), 0, time.Second)
		if one[0].CANFrame == other[0].CANFrame {
			t.Error("the seed does not tell")
		}
	})
}

func TestALongTimeIsRecordedToTheRingsSize(t *testing.T) {
	now := time.Unix(1000, 0)
	b := opened(t, Wiring{CAN: "up", Now: func() time.Time { return now }})
	taken(t, b, 0, 0)
	now = now.Add(24 * time.Hour)
	frames, at := taken(t, b, 0, 0)
	if len(frames) != device.CANRingFrames || at.Lost == 0 || at.Next != at.Lost+device.CANRingFrames {
		t.Errorf("%d frames, %+v", len(frames), at)
	}
}

func TestTheControlUnitAnswers(t *testing.T) {
	now := time.Unix(1000, 0)
	b := opened(t, Wiring{CAN: "up", Now: func() time.Time { return now }})
	for _, c := range []struct {
		id   uint32
		ask  []byte
		want []byte // nil: silence
	}{
		{askID, []byte{2, 1, 0x00}, []byte{6, 0x41, 0, 0x08, 0x10, 0, 0, 0}},
		{askAllID, []byte{2, 1, 0x05}, []byte{3, 0x41, 5, 131, 0, 0, 0, 0}},
		{askAllID, []byte{2, 1, 0x05, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa}, []byte{3, 0x41, 5, 131, 0, 0, 0, 0}},
		{askID, []byte{2, 1, 0x77}, []byte{3, 0x7f, 1, 0x12, 0, 0, 0, 0}},
		{askID, []byte{2, 9, 0x02}, []byte{3, 0x7f, 9, 0x11, 0, 0, 0, 0}},
		{askAllID, []byte{2, 9, 0x02}, nil},
		{askID, []byte{7, 1, 0}, nil},
		{askID, []byte{2}, nil},
		{0x7e1, []byte{2, 1, 5}, nil},
	} {
		f := device.CANFrame{ID: c.id, Len: uint8(len(c.ask))}
		copy(f.Data[:], c.ask)
		when, next, err := b.CAN().Send("can0", &f, now)
		if err != nil || !when.Equal(now) {
			t.Fatal(when, err)
		}
		now = now.Add(30 * time.Millisecond) // no other frame is due within all of this
		frames, _ := taken(t, b, next, 0)
		var got []byte
		for _, f := range frames {
			if f.ID == answerID {
				got = f.Data[:f.Len]
				if at := f.Time.Sub(when); at != answerDelay {
					t.Errorf("answered after %v", at)
				}
			}
		}
		if string(got) != string(c.want) {
			t.Errorf("%x % x is answered with % x, want % x", c.id, c.ask, got, c.want)
		}
	}
}

func TestALinkInTrouble(t *testing.T) {
	for link, want := range map[string]string{
		"down":    `can0: the link is down; bring it up with: sudo ip link set can0 up type can bitrate 500000`,
		"bus-off": `can0: BUS-OFF: too many errors have taken it off the bus; check wiring, termination and bit rate, then: sudo ip link set can0 type can restart`,
	} {
		b := opened(t, Wiring{CAN: link})
		_, _, err := b.CAN().Send("can0", &device.CANFrame{}, time.Now().Add(time.Hour))
		_, _, other := b.CAN().Receive("can0", device.CANWanted{Count: 1, Deadline: time.Now().Add(time.Hour)}, nil)
		for _, err := range []error{err, other} {
			if err == nil || err.Error() != want || !errors.Is(err, device.ErrDown) {
				t.Errorf("%s: %v\nwant %s", link, err, want)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{CAN: "alone"})
		_, next, err := b.CAN().Send("can0", &device.CANFrame{}, time.Now().Add(time.Second))
		const want = `can0: the frame was not seen on the bus in time (no acknowledge: no other node answers); the link is up, ERROR-PASSIVE, ` +
			`500000 bit/s, sample point 87.5 %, FD data 2000000 bit/s, errors sent 128, received 0; outcome unknown: ` +
			`the controller goes on trying until another node acknowledges it; check wiring, termination, bit rate and that another node is on the bus`
		if err == nil || err.Error() != want || !errors.Is(err, device.ErrTimeout) {
			t.Errorf("%v\nwant %s", err, want)
		}
		frames, _ := taken(t, b, next, time.Second)
		if len(frames) != 1 || frames[0].Trouble() != "no acknowledge: no other node answers" {
			t.Errorf("%+v", frames)
		}
	})
	if err := (Wiring{CAN: "off"}).Check(); err == nil || err.Error() != `sim.can: "off"; up, down, bus-off, alone are allowed` {
		t.Error(err)
	}
}
