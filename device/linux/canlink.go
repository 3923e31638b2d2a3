//go:build linux

package linux

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// The kernel tells of a link over rtnetlink: RTM_GETLINK asks, RTM_NEWLINK
// answers, with attributes that nest (rtnetlink(7), linux/can/netlink.h).

// askLink gives the kernel's message about the link with this index.
func askLink(index int) ([]byte, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// The kernel answers in the send; the limit is for what nobody knows.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, err
	}
	ask := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(ask, uint32(len(ask)))
	binary.NativeEndian.PutUint16(ask[4:], unix.RTM_GETLINK)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(ask[unix.SizeofNlMsghdr+4:], uint32(index))
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, 16<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return nil, err
	}
	return answer[:n], nil
}

// parseLink reads the kernel's message about a link. Attributes that it does not
// know, or that are too short, it passes over.
func parseLink(b []byte, l *device.CANLink) error {
	if len(b) < unix.SizeofNlMsghdr+4 {
		return unix.EBADMSG
	}
	size, kind := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:])
	if size < unix.SizeofNlMsghdr || uint64(size) > uint64(len(b)) {
		return unix.EBADMSG
	}
	body := b[unix.SizeofNlMsghdr:size]
	switch {
	case kind == unix.NLMSG_ERROR && len(body) >= 4:
		if errno := int32(binary.NativeEndian.Uint32(body)); errno < 0 && errno > -4096 {
			return unix.Errno(-errno)
		}
		return unix.EBADMSG
	case kind != unix.RTM_NEWLINK || len(body) < unix.SizeofIfInfomsg:
		return unix.EBADMSG
	}
	l.Up = binary.NativeEndian.Uint32(body[8:])&unix.IFF_UP != 0
	l.State = device.CANStateUnknown
	attributes(body[unix.SizeofIfInfomsg:], func(kind uint16, data []byte) {
		switch {
		case kind == unix.IFLA_MTU && len(data) >= 4:
			l.FD = binary.NativeEndian.Uint32(data) >= canFDFrameLen
		case kind == unix.IFLA_LINKINFO:
			parseLinkInfo(data, l)
		}
	})
	return nil
}

func parseLinkInfo(b []byte, l *device.CANLink) {
	attributes(b, func(kind uint16, data []byte) {
		switch kind {
		case unix.IFLA_INFO_KIND:
			l.Kind = text(data)
		case unix.IFLA_INFO_DATA:
			attributes(data, func(kind uint16, data []byte) { parseCANInfo(kind, data, l) })
		}
	})
}

// parseCANInfo reads one attribute of a CAN controller.
func parseCANInfo(kind uint16, data []byte, l *device.CANLink) {
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(data[4*i:]) }
	switch {
	case kind == unix.IFLA_CAN_BITTIMING && len(data) >= 8:
		l.Bitrate, l.SamplePoint = word(0), word(1)
	case kind == unix.IFLA_CAN_DATA_BITTIMING && len(data) >= 4:
		l.DataBitrate = word(0)
	case kind == unix.IFLA_CAN_STATE && len(data) >= 4:
		l.State = device.CANState(min(word(0), uint32(device.CANStateUnknown)))
	case kind == unix.IFLA_CAN_CTRLMODE && len(data) >= 8:
		l.ListenOnly = word(1)&unix.CAN_CTRLMODE_LISTENONLY != 0
	case kind == unix.IFLA_CAN_RESTART_MS && len(data) >= 4:
		l.Restart = time.Duration(word(0)) * time.Millisecond
	case kind == unix.IFLA_CAN_BERR_COUNTER && len(data) >= 4:
		l.Counted = true
		l.TxErrors, l.RxErrors = binary.NativeEndian.Uint16(data), binary.NativeEndian.Uint16(data[2:])
	}
}

// attributes calls each for every attribute of b, up to the first that is broken.
func attributes(b []byte, each func(kind uint16, data []byte)) {
	for len(b) >= unix.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			return
		}
		each(binary.NativeEndian.Uint16(b[2:])&^unix.NLA_F_NESTED, b[unix.SizeofRtAttr:size])
		b = b[min(len(b), (size+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
	}
}

// canInterface is a CAN interface as sysfs has it.
type canInterface struct {
	name  string
	index int
}

// interfaces is the kernel's CAN interfaces, by name.
func (c *can) interfaces() []canInterface {
	dir := filepath.Join(c.roots.sys, "class/net")
	entries, _ := os.ReadDir(dir)
	var all []canInterface
	for _, e := range entries {
		kind, _ := readText(16, dir, e.Name(), "type")
		if kind != strconv.Itoa(unix.ARPHRD_CAN) {
			continue
		}
		text, _ := readText(16, dir, e.Name(), "ifindex")
		if index, err := strconv.Atoi(text); err == nil && index > 0 {
			all = append(all, canInterface{e.Name(), index})
		}
	}
	slices.SortFunc(all, func(a, b canInterface) int { return strings.Compare(a.name, b.name) })
	return all
}

// find is the interface called name, and how its link is.
func (c *can) find(name string) (canInterface, device.CANLink, error) {
	all := c.interfaces()
	names := make([]string, len(all))
	for i, x := range all {
		if x.name == name {
			l, err := c.link(x)
			return x, l, err
		}
		names[i] = x.name
	}
	e := &device.Error{Subject: "CAN interface " + strconv.Quote(name), Kind: device.ErrNotFound, Hint: "this board has none any more"}
	if len(names) > 0 {
		e.Hint = "this board has " + strings.Join(names, ", ")
	}
	return canInterface{}, device.CANLink{}, e
}

func (c *can) link(x canInterface) (device.CANLink, error) {
	l := device.CANLink{Name: x.name}
	b, err := c.ask(x.index)
	if err == nil {
		err = parseLink(b, &l)
	}
	if err != nil {
		return l, explain(x.name, err, canMeanings)
	}
	return l, nil
}
