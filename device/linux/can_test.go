//go:build linux

package linux

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// attribute is a netlink attribute, padded.
func attribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(data)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, data...)
	return append(b, make([]byte, -len(b)&3)...)
}

func words(v ...uint32) []byte {
	var b []byte
	for _, w := range v {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

// linkMessage is an RTM_NEWLINK of a CAN interface.
func linkMessage(flags, mtu uint32, kind string, info ...[]byte) []byte {
	body := append(words(unix.ARPHRD_CAN<<16, 3, flags, 0), attribute(unix.IFLA_IFNAME, []byte("can0\x00"))...)
	body = append(body, attribute(unix.IFLA_MTU, words(mtu))...)
	nested := attribute(unix.IFLA_INFO_KIND, []byte(kind+"\x00"))
	if info != nil {
		nested = append(nested, attribute(unix.IFLA_INFO_DATA|unix.NLA_F_NESTED, bytes.Join(info, nil))...)
	}
	body = append(body, attribute(unix.IFLA_LINKINFO, nested)...)
	b := words(uint32(unix.SizeofNlMsghdr+len(body)), unix.RTM_NEWLINK, 0, 0)
	return append(b, body...)
}

var (
	timing   = attribute(unix.IFLA_CAN_BITTIMING, words(500000, 875, 125, 6, 7, 2, 1, 5))
	fastData = attribute(unix.IFLA_CAN_DATA_BITTIMING, words(2000000, 750, 25, 6, 7, 2, 1, 5))
	counters = attribute(unix.IFLA_CAN_BERR_COUNTER, words(0))
)

func canStateAttr(s device.CANState) []byte { return attribute(unix.IFLA_CAN_STATE, words(uint32(s))) }

func upLink(int) ([]byte, error) {
	return linkMessage(unix.IFF_UP, canFDFrameLen, "can", timing, fastData, canStateAttr(device.CANErrorActive), counters), nil
}

// fakeBus is a CAN bus of socket pairs, for a machine without AF_CAN. A socket's
// frame goes back to it, as the echo, and to the recordings of the other boards.
type fakeBus struct {
	t    *testing.T
	mu   sync.Mutex
	ends map[*can][]int // of the recordings
	deaf bool           // no echo
	wg   sync.WaitGroup
}

// board gives a board whose one interface is on the bus.
func (bus *fakeBus) board() *Board {
	r := tree(bus.t, map[string]string{
		"sys/class/net/can0/type": "280\n", "sys/class/net/can0/ifindex": "3\n",
		"sys/class/net/lo/type": "772\n", "sys/class/net/lo/ifindex": "1\n",
	})
	c := newCAN(r)
	c.ask = upLink
	c.socket = canSocket{dial: func(index int, filter []unix.CanFilter) (int, error) { return bus.dial(c, index, filter) }}
	b := &Board{roots: r, can: c}
	bus.t.Cleanup(func() { b.Close() })
	return b
}

func (bus *fakeBus) dial(c *can, index int, filter []unix.CanFilter) (int, error) {
	if index != 3 {
		bus.t.Errorf("interface %d is opened", index)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return -1, err
	}
	if filter == nil {
		bus.mu.Lock()
		bus.ends[c] = append(bus.ends[c], pair[1])
		bus.mu.Unlock()
		bus.t.Cleanup(func() { unix.Close(pair[1]) })
		return pair[0], nil
	}
	bus.wg.Go(func() {
		defer unix.Close(pair[1])
		var b [canFDFrameLen]byte
		for {
			n, err := unix.Read(pair[1], b[:])
			if err != nil || n <= 0 {
				return
			}
			bus.mu.Lock()
			for other, ends := range bus.ends {
				for _, end := range ends {
					if other != c {
						_, _ = unix.Write(end, b[:n])
					}
				}
			}
			deaf := bus.deaf
			bus.mu.Unlock()
			if deaf {
				trouble := append(words(unix.CAN_ERR_FLAG|unix.CAN_ERR_ACK), 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
				_, _ = unix.Write(pair[1], trouble)
				continue
			}
			_, _ = unix.Write(pair[1], b[:n])
		}
	})
	return pair[0], nil
}

// put gives the recordings of c bytes, as from the bus.
func (bus *fakeBus) put(c *can, b []byte) {
	bus.t.Helper()
	bus.mu.Lock()
	defer bus.mu.Unlock()
	for _, end := range bus.ends[c] {
		if _, err := unix.Write(end, b); err != nil {
			bus.t.Error(err)
		}
	}
}

func newFakeBus(t *testing.T) *fakeBus {
	bus := &fakeBus{t: t, ends: make(map[*can][]int)}
	t.Cleanup(bus.wg.Wait)
	return bus
}

// On socket pairs; a kernel's own interface runs the same in TestKernelCAN.
func TestCANContract(t *testing.T) {
	bus := newFakeBus(t)
	contract.CAN(t, func() device.Board { return bus.board() }, contract.CANWiring{Name: "can0", FD: true})
}

func TestCANFramesAreLaidOutAsInTheHeader(t *testing.T) {
	for _, c := range []struct {
		frame device.CANFrame
		id    uint32
		rest  string
	}{
		{device.CANFrame{ID: 0x123, Len: 2, Data: [64]byte{0xaa, 0xbb}}, 0x123, "02000000 aabb000000000000"},
		{device.CANFrame{ID: 0x123, Extended: true}, 0x80000123, "00000000 0000000000000000"},
		{device.CANFrame{ID: 0x7ff, Remote: true, Len: 8}, 0x400007ff, "08000000 0000000000000000"},
		{device.CANFrame{ID: 1, FD: true, Len: 1, Data: [64]byte{7}}, 1, "01040000 07" + strings.Repeat("00", 63)},
		{device.CANFrame{ID: 1, FD: true, BRS: true, ESI: true, Len: 12}, 1, "0c070000" + strings.Repeat("00", 64)},
	} {
		got := appendCANFrame(nil, &c.frame)
		rest, err := hex.DecodeString(strings.ReplaceAll(c.rest, " ", ""))
		must(t, err)
		if want := append(words(c.id), rest...); !bytes.Equal(got, want) {
			t.Errorf("%+v\ngot  %x\nwant %x", c.frame, got, want)
		}
		var back device.CANFrame
		if !parseCANFrame(got, &back) || back != c.frame {
			t.Errorf("%+v came back as %+v", c.frame, back)
		}
	}
	var f device.CANFrame
	for _, n := range []int{0, 1, 8, 15, 17, 71, 73} {
		if parseCANFrame(make([]byte, n), &f) {
			t.Errorf("%d bytes are a frame", n)
		}
	}
	if parseCANFrame(append(words(1), 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8), &f) {
		t.Error("a classic frame of 9 bytes is one")
	}
	dirty := append(words(1), 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	if !parseCANFrame(dirty, &f) || f.Data != [64]byte{1} {
		t.Errorf("%+v", f)
	}
	if n := testing.AllocsPerRun(100, func() { parseCANFrame(dirty, &f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// control is a control message, padded.
func control(level, kind uint32, data []byte) []byte {
	b := make([]byte, unix.SizeofCmsghdr)
	if unix.SizeofCmsghdr == 16 {
		binary.NativeEndian.PutUint64(b, uint64(len(b)+len(data)))
	} else {
		binary.NativeEndian.PutUint32(b, uint32(len(b)+len(data)))
	}
	binary.NativeEndian.PutUint32(b[len(b)-8:], level)
	binary.NativeEndian.PutUint32(b[len(b)-4:], kind)
	b = append(b, data...)
	return append(b, make([]byte, unix.CmsgSpace(len(data))-len(b))...)
}

func TestCANControlMessages(t *testing.T) {
	stamp := binary.NativeEndian.AppendUint64(nil, 1700000000)
	stamp = binary.NativeEndian.AppendUint64(stamp, 123456789)
	all := slices.Concat(control(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, stamp), control(9, 9, []byte{1}), control(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, words(42)))
	when, lost, counted := parseCANControl(all)
	if !when.Equal(time.Unix(1700000000, 123456789)) || lost != 42 || !counted {
		t.Errorf("%v, %d, %v", when, lost, counted)
	}
	for n := range all {
		parseCANControl(all[:n])
	}
}

func TestALinkIsReadFromItsMessage(t *testing.T) {
	for _, c := range []struct {
		name    string
		message []byte
		want    string
		quiet   string
	}{
		{"a link that is up", linkMessage(unix.IFF_UP, 16, "can", timing, canStateAttr(device.CANErrorWarning),
			attribute(unix.IFLA_CAN_BERR_COUNTER, []byte{97, 0, 3, 0})), "up, ERROR-WARNING, 500000 bit/s, sample point 87.5 %, errors sent 97, received 3", ""},
		{"one with FD", linkMessage(unix.IFF_UP, 72, "can", timing, fastData, canStateAttr(device.CANErrorActive)),
			"up, ERROR-ACTIVE, 500000 bit/s, sample point 87.5 %, FD data 2000000 bit/s", ""},
		{"a virtual one", linkMessage(unix.IFF_UP, 72, "vcan"), "up, virtual", ""},
		{"a listener", linkMessage(unix.IFF_UP, 16, "can", canStateAttr(device.CANErrorPassive), attribute(unix.IFLA_CAN_CTRLMODE, words(2, 2))),
			"up, ERROR-PASSIVE, listen-only", ""},
		{"one that is down", linkMessage(0, 16, "can", canStateAttr(device.CANStopped)),
			"down; bring it up with: sudo ip link set can0 up type can bitrate 500000",
			"can0: the link is down; bring it up with: sudo ip link set can0 up type can bitrate 500000"},
		{"a virtual one that is down", linkMessage(0, 16, "vcan"), "down; bring it up with: sudo ip link set can0 up",
			"can0: the link is down; bring it up with: sudo ip link set can0 up"},
		{"BUS-OFF", linkMessage(unix.IFF_UP, 16, "can", canStateAttr(device.CANBusOff)),
			"up, BUS-OFF; check wiring, termination and bit rate, then: sudo ip link set can0 type can restart",
			"can0: BUS-OFF: too many errors have taken it off the bus; check wiring, termination and bit rate, then: sudo ip link set can0 type can restart"},
		{"BUS-OFF that restarts", linkMessage(unix.IFF_UP, 16, "can", canStateAttr(device.CANBusOff), attribute(unix.IFLA_CAN_RESTART_MS, words(100))),
			"up, BUS-OFF; check wiring, termination and bit rate; it restarts by itself after 100ms",
			"can0: BUS-OFF: too many errors have taken it off the bus; check wiring, termination and bit rate; it restarts by itself after 100ms"},
		{"a state that is new", linkMessage(unix.IFF_UP, 16, "can", canStateAttr(99)), "up", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := device.CANLink{Name: "can0"}
			must(t, parseLink(c.message, &l))
			if got := l.String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			got := ""
			if err := l.Quiet(); err != nil {
				got = err.Error()
			}
			if got != c.quiet {
				t.Errorf("got  %s\nwant %s", got, c.quiet)
			}
		})
	}
	var l device.CANLink
	for name, c := range map[string]struct {
		message []byte
		want    error
	}{
		"nothing":        {nil, unix.EBADMSG},
		"an error":       {words(36, unix.NLMSG_ERROR, 0, 0, ^uint32(uint32(unix.ENODEV)-1), 0, 0, 0, 0), unix.ENODEV},
		"no error":       {words(36, unix.NLMSG_ERROR, 0, 0, 0, 0, 0, 0, 0), unix.EBADMSG},
		"too long":       {words(100, unix.RTM_NEWLINK, 0, 0, 0, 0, 0, 0), unix.EBADMSG},
		"too short":      {words(20, unix.RTM_NEWLINK, 0, 0, 0), unix.EBADMSG},
		"something else": {words(32, unix.RTM_NEWADDR, 0, 0, 0, 0, 0, 0), unix.EBADMSG},
	} {
		if err := parseLink(c.message, &l); err != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The kernel of any machine has a loopback interface to ask about.
func TestNetlinkTellsOfALink(t *testing.T) {
	b, err := askLink(1)
	if err != nil {
		t.Skip("no netlink here: ", err)
	}
	var l device.CANLink
	if err := parseLink(b, &l); err != nil {
		t.Error(err)
	}
	b, err = askLink(1 << 30)
	must(t, err)
	if err := parseLink(b, &l); err != unix.ENODEV {
		t.Error(err)
	}
}

func TestAFrameThatNobodyAcknowledges(t *testing.T) {
	bus := newFakeBus(t)
	bus.deaf = true
	c := bus.board().CAN()
	_, _, err := c.Send("can0", &device.CANFrame{ID: 1}, time.Now().Add(50*time.Millisecond))
	expect(t, err, device.ErrTimeout, "can0", "not seen on the bus in time (no acknowledge: no other node answers)", "the link is up, ERROR-ACTIVE", "outcome unknown")
}

func TestALinkInTroubleTakesNoFrame(t *testing.T) {
	board := newFakeBus(t).board()
	c := board.CAN()
	for name, tt := range map[string]struct {
		message []byte
		frame   device.CANFrame
		kind    error
		words   string
	}{
		"down":        {linkMessage(0, 16, "can"), device.CANFrame{}, device.ErrDown, "sudo ip link set can0 up type can bitrate 500000"},
		"BUS-OFF":     {linkMessage(unix.IFF_UP, 16, "can", canStateAttr(device.CANBusOff)), device.CANFrame{}, device.ErrDown, "sudo ip link set can0 type can restart"},
		"listen-only": {linkMessage(unix.IFF_UP, 16, "can", attribute(unix.IFLA_CAN_CTRLMODE, words(2, 2))), device.CANFrame{}, device.ErrNotSupport, "listen-only off"},
		"no FD":       {linkMessage(unix.IFF_UP, 16, "can"), device.CANFrame{FD: true}, device.ErrNotSupport, "fd on"},
		"gone":        {words(36, unix.NLMSG_ERROR, 0, 0, ^uint32(uint32(unix.ENODEV)-1), 0, 0, 0, 0), device.CANFrame{}, device.ErrUnplugged, "plugged in"},
	} {
		board.can.ask = func(int) ([]byte, error) { return tt.message, nil }
		_, _, err := c.Send("can0", &tt.frame, time.Now().Add(time.Hour))
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfASendInWords(t *testing.T) {
	expect(t, explainCAN("can1", unix.ENOBUFS), unix.ENOBUFS, "can1", "queue is full", "no other node acknowledges", "sudo ip link set can1 txqueuelen 1000")
	expect(t, explainCAN("can1", unix.ENETDOWN), device.ErrDown, "can1", "went down")
	expect(t, explainCAN("can1", unix.EPROTONOSUPPORT), device.ErrNotSupport, "modprobe can-raw")
}

func TestLostFramesAreCounted(t *testing.T) {
	var r device.CANRing
	r.Put(&device.CANFrame{ID: 1}, time.Now())
	r.Lose(5)
	r.Put(&device.CANFrame{ID: 2}, time.Now())
	r.Lose(2)
	frames, taken, err := r.Take(device.CANWanted{Count: 10}, nil)
	if err != nil || len(frames) != 2 || taken.Lost != 7 || taken.Next != 9 {
		t.Errorf("%+v, %+v, %v", frames, taken, err)
	}
}

func TestFramesOfSendAreKnownOnce(t *testing.T) {
	var p canPort
	a, b := device.CANFrame{ID: 1}, device.CANFrame{ID: 2}
	p.sending(&a)
	p.sending(&a)
	if p.isSent(&b) || !p.isSent(&a) || !p.isSent(&a) || p.isSent(&a) {
		t.Errorf("%+v", p.sent)
	}
	for i := range 2 * maxCANSent {
		p.sending(&device.CANFrame{ID: uint32(i)})
	}
	if len(p.sent) != maxCANSent || p.sent[maxCANSent-1].ID != 2*maxCANSent-1 {
		t.Errorf("%+v", p.sent)
	}
}

func TestAnInterfaceThatGoesEndsItsRecording(t *testing.T) {
	bus := newFakeBus(t)
	board := bus.board()
	c := board.can
	_, taken, err := c.Receive("can0", device.CANWanted{Count: 1}, nil)
	must(t, err)
	bus.put(c, appendCANFrame(nil, &device.CANFrame{ID: 5}))
	bus.put(c, []byte("no frame"))
	bus.mu.Lock()
	must(t, unix.Shutdown(bus.ends[c][0], unix.SHUT_RDWR)) // reads as the end, as ENODEV does
	bus.mu.Unlock()
	p := c.ports["can0"]
	for end := time.Now().Add(5 * time.Second); p.alive() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	frames, taken, err := p.ring.Take(device.CANWanted{From: taken.Next, Count: 9}, nil)
	if err != nil || len(frames) != 1 || frames[0].ID != 5 {
		t.Errorf("%+v, %v", frames, err)
	}
	_, _, err = p.ring.Take(device.CANWanted{From: taken.Next, Count: 9}, nil)
	expect(t, err, device.ErrUnplugged, "can0", "plugged in")
	if _, _, err := c.Receive("can0", device.CANWanted{Count: 1}, nil); err != nil || c.ports["can0"] == p {
		t.Errorf("it is not opened again: %v", err)
	}
	must(t, os.RemoveAll(board.roots.sys))
	_, _, err = c.Receive("can0", device.CANWanted{Count: 1}, nil)
	expect(t, err, device.ErrNotFound, "can0")
}

func FuzzParseLink(f *testing.F) {
	f.Add(linkMessage(unix.IFF_UP, 16, "can", timing, fastData, canStateAttr(2), counters))
	f.Add(linkMessage(0, 72, "vcan"))
	f.Add(words(36, unix.NLMSG_ERROR, 0, 0, ^uint32(18), 0, 0, 0, 0))
	f.Add(words(40, unix.RTM_NEWLINK, 0, 0, 0, 0, 0, 0, 0x00120008, 0x00010004))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := device.CANLink{Name: "can0"}
		if err := parseLink(b, &l); err == nil && len(l.String()) > 1000+len(b) {
			t.Errorf("%q", l.String())
		}
	})
}

func FuzzParseCANFrame(f *testing.F) {
	for _, frame := range []device.CANFrame{{ID: 0x123, Len: 8}, {ID: 1, Extended: true}, {Remote: true, Len: 3}, {FD: true, BRS: true, Len: 64}} {
		f.Add(appendCANFrame(nil, &frame), []byte(nil))
	}
	f.Add(append(words(unix.CAN_ERR_FLAG|0x3ff), 8, 0, 0, 0, 1, 0xff, 0xff, 0x19, 0x48, 0, 99, 98), control(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, words(1)))
	f.Fuzz(func(t *testing.T, b, c []byte) {
		parseCANControl(c)
		var frame device.CANFrame
		if !parseCANFrame(b, &frame) {
			return
		}
		if frame.Error != (frame.Trouble() != "") {
			t.Errorf("%+v: %q", frame, frame.Trouble())
		}
		if frame.Check() != nil {
			return // an error frame, or of a length that nobody sends
		}
		var back device.CANFrame
		if !parseCANFrame(appendCANFrame(nil, &frame), &back) || back != frame {
			t.Errorf("%+v came back as %+v", frame, back)
		}
	})
}
