//go:build linux

package linux

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// The lengths of struct can_frame and struct canfd_frame (linux/can.h), of which
// the second begins like the first:
//
//	id and flags (4, host order) | len | flags | 2 reserved | data (8 or 64)
const (
	canFrameLen   = 16
	canFDFrameLen = 72
)

// What canfd_frame has in its flags.
const (
	canFDBRS = 0x01
	canFDESI = 0x02
	canFDF   = 0x04
)

// appendCANFrame appends a frame, which Check has passed, as the kernel takes it.
func appendCANFrame(dst []byte, f *device.CANFrame) []byte {
	id := canID(f)
	size, flags := canFrameLen, byte(0)
	if f.FD {
		size, flags = canFDFrameLen, canFDF
		if f.BRS {
			flags |= canFDBRS
		}
		if f.ESI {
			flags |= canFDESI
		}
	}
	dst = binary.NativeEndian.AppendUint32(dst, id)
	dst = append(dst, f.Len, flags, 0, 0)
	return append(dst, f.Data[:size-8]...)
}

// canID is a frame's identifier with the kernel's flags in it.
func canID(f *device.CANFrame) uint32 {
	id := f.ID
	if f.Extended {
		id |= unix.CAN_EFF_FLAG
	}
	if f.Remote {
		id |= unix.CAN_RTR_FLAG
	}
	return id
}

// parseCANFrame reads what a CAN socket gave: false where that is no frame. The
// bytes behind a frame's length are zero in f, whatever came.
func parseCANFrame(b []byte, f *device.CANFrame) bool {
	if len(b) != canFrameLen && len(b) != canFDFrameLen {
		return false
	}
	*f = device.CANFrame{Len: b[4]}
	id := binary.NativeEndian.Uint32(b)
	f.Extended = id&unix.CAN_EFF_FLAG != 0
	f.Error = id&unix.CAN_ERR_FLAG != 0
	f.Remote = id&unix.CAN_RTR_FLAG != 0 && !f.Error
	switch {
	case f.Error:
		f.ID, f.Extended = id&unix.CAN_ERR_MASK, false
	case f.Extended:
		f.ID = id & unix.CAN_EFF_MASK
	default:
		f.ID = id & unix.CAN_SFF_MASK
	}
	if len(b) == canFDFrameLen {
		f.FD = true
		f.BRS = b[5]&canFDBRS != 0
		f.ESI = b[5]&canFDESI != 0
	}
	if int(f.Len) > len(b)-8 {
		return false
	}
	if !f.Remote {
		copy(f.Data[:f.Len], b[8:])
	}
	return true
}

// parseCANControl reads the control messages that come with a frame: when it
// came, zero where they do not say, and how many frames the socket has lost so
// far. (cmsg(3); a length is the processor's word.)
func parseCANControl(b []byte) (when time.Time, lost uint32, counted bool) {
	header := unix.SizeofCmsghdr
	for len(b) >= header {
		var size uint64
		if header == 16 {
			size = binary.NativeEndian.Uint64(b)
		} else {
			size = uint64(binary.NativeEndian.Uint32(b))
		}
		if size < uint64(header) || size > uint64(len(b)) {
			return when, lost, counted
		}
		level, kind := binary.NativeEndian.Uint32(b[header-8:]), binary.NativeEndian.Uint32(b[header-4:])
		data := b[header:size]
		switch {
		case level != unix.SOL_SOCKET:
		case kind == unix.SO_RXQ_OVFL && len(data) >= 4:
			lost, counted = binary.NativeEndian.Uint32(data), true
		case kind == unix.SO_TIMESTAMPNS_NEW && len(data) >= 16:
			when = time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
		}
		b = b[min(len(b), unix.CmsgSpace(len(data))):]
	}
	return when, lost, counted
}
