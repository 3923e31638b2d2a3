//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// changeLink asks the kernel to make, change or remove a link. It needs the right
// to (CAP_NET_ADMIN).
func changeLink(kind, flags uint16, ifFlags uint32, attributes ...[]byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	body := words(0, 0, ifFlags, unix.IFF_UP)
	for _, a := range attributes {
		body = append(body, a...)
	}
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	message = append(append(message, words(0, 0)...), body...)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if err := parseLink(answer[:n], new(device.CANLink)); err != unix.EBADMSG { // which an error of 0 is
		return err
	}
	return nil
}

func ifname(name string) []byte { return attribute(unix.IFLA_IFNAME, []byte(name+"\x00")) }

// vcan makes a virtual CAN interface that is up and takes FD frames, and removes
// it at the end. It needs the module vcan.
func vcan(t *testing.T, name string) {
	t.Helper()
	err := changeLink(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.IFF_UP, ifname(name),
		attribute(unix.IFLA_MTU, words(canFDFrameLen)), attribute(unix.IFLA_LINKINFO, attribute(unix.IFLA_INFO_KIND, []byte("vcan\x00"))))
	if err != nil {
		t.Fatalf("no vcan: %v", err)
	}
	t.Cleanup(func() {
		if err := changeLink(unix.RTM_DELLINK, 0, 0, ifname(name)); err != nil {
			t.Error(err)
		}
	})
}

// canTest is the interface that BOARDHAND_KERNEL names with can=: "vcan" makes a
// virtual one.
func canTest(t *testing.T) string {
	t.Helper()
	name := kernel(t)["can"]
	switch name {
	case "":
		t.Skip("no CAN interface to test on")
	case "vcan":
		name = "vcan7"
		vcan(t, name)
	}
	return name
}

func TestKernelCAN(t *testing.T) {
	name := canTest(t)
	links, err := openReal(t).CAN().Links(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := contract.CANWiring{Name: name}
	for _, l := range links {
		t.Logf("%+v: %v", l, &l)
		if l.Name == name {
			w.FD = l.FD
		}
	}
	contract.CAN(t, func() device.Board { return openReal(t) }, w)
}

// The kernel drops what a socket has no room for, and counts it: what is received
// and what is lost are all there was.
func TestKernelCANCountsWhatItLost(t *testing.T) {
	name := canTest(t)
	b := openReal(t)
	_, start, err := b.CAN().Receive(name, device.CANWanted{From: device.CANFromNow, Count: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := b.can.find(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := dialCAN(x.index, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const n = 20000
	frame := appendCANFrame(nil, &device.CANFrame{ID: 0x390, Len: 8})
	for range n {
		for {
			if _, err = unix.Write(fd, frame); err != unix.EAGAIN && err != unix.ENOBUFS {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The kernel tells of a loss with the next frame.
	time.Sleep(200 * time.Millisecond)
	if _, err := unix.Write(fd, appendCANFrame(nil, &device.CANFrame{ID: 0x391})); err != nil {
		t.Fatal(err)
	}
	frames, taken, err := b.CAN().Receive(name, device.CANWanted{From: start.Next, Count: 1, Deadline: time.Now().Add(10 * time.Second),
		Match: func(f *device.CANFrame) device.CANVerdict {
			if f.ID == 0x391 {
				return device.CANTake
			}
			return device.CANSkip
		}}, nil)
	if err != nil || len(frames) != 1 {
		t.Fatal(frames, err)
	}
	t.Logf("%d of %d frames lost to the ring or the kernel", taken.Lost, n)
	if total := taken.Next - start.Next; total != n+1 {
		t.Errorf("%d frames, received or lost, of %d", total, n+1)
	}
}

// Two controllers on one bus, from down over up, down and up again, which they
// stay. Few frames: after a burst an emulated SJA1000 gives each frame only when
// the next one comes.
func TestKernelCANPair(t *testing.T) {
	first, second, ok := strings.Cut(kernel(t)["canpair"], "+")
	if !ok {
		t.Skip("no two controllers on one bus")
	}
	b := openReal(t)
	c := b.CAN()
	_, _, err := c.Send(first, &device.CANFrame{ID: 1}, time.Now().Add(time.Second))
	expect(t, err, device.ErrDown, first, "sudo ip link set "+first+" up type can bitrate 500000")
	_, _, err = c.Receive(second, device.CANWanted{From: device.CANFromNow, Count: 1, Deadline: time.Now().Add(time.Hour)}, nil)
	expect(t, err, device.ErrDown, second)

	// As the hint says.
	bitrate := attribute(unix.IFLA_LINKINFO, append(attribute(unix.IFLA_INFO_KIND, []byte("can\x00")),
		attribute(unix.IFLA_INFO_DATA, attribute(unix.IFLA_CAN_BITTIMING, words(500000, 0, 0, 0, 0, 0, 0, 0)))...))
	for _, name := range []string{first, second} {
		if err := changeLink(unix.RTM_NEWLINK, 0, unix.IFF_UP, ifname(name), bitrate); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, l, err := b.can.find(name)
		if err != nil || l.Bitrate != 500000 || l.SamplePoint == 0 || l.State != device.CANErrorActive || l.Kind != "can" {
			t.Errorf("%+v, %v", l, err)
		}
		t.Log(name, ": ", l.String())
	}
	_, start, err := c.Receive(second, device.CANWanted{From: device.CANFromNow, Count: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := device.CANFrame{ID: 0x18ff1234, Extended: true, Len: 8, Data: [64]byte{1, 2, 3, 4, 5, 6, 7, 8}}
	only := func(f *device.CANFrame) device.CANVerdict {
		if f.ID == sent.ID {
			return device.CANTake
		}
		return device.CANSkip
	}
	when, _, err := c.Send(first, &sent, time.Now().Add(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	frames, taken, err := c.Receive(second, device.CANWanted{From: start.Next, Count: 1, Deadline: time.Now().Add(5 * time.Second), Match: only}, nil)
	if err != nil || len(frames) != 1 || frames[0].CANFrame != sent {
		t.Errorf("%+v, %v", frames, err)
	} else {
		t.Logf("sent at %v, received %v later", when, frames[0].Time.Sub(when))
	}

	// A link that went down and up goes on with the same recording.
	for _, flags := range []uint32{0, unix.IFF_UP} {
		if err := changeLink(unix.RTM_NEWLINK, 0, flags, ifname(second)); err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Receive(second, device.CANWanted{From: taken.Next, Count: 1}, nil)
		if down := flags == 0; down != errors.Is(err, device.ErrDown) {
			t.Errorf("flags %d: %v", flags, err)
		}
	}
	if _, _, err := c.Send(first, &sent, time.Now().Add(5*time.Second)); err != nil {
		t.Error(err)
	}
	frames, _, err = c.Receive(second, device.CANWanted{From: taken.Next, Count: 1, Deadline: time.Now().Add(5 * time.Second), Match: only}, nil)
	if err != nil || len(frames) != 1 || frames[0].CANFrame != sent || frames[0].Offset < taken.Next {
		t.Errorf("%+v, %v", frames, err)
	}
}
