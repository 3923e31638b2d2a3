//go:build linux

package uapi

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The structures of the GPIO character device.
type (
	ChipInfo    = unix.GPIOChipInfo
	LineInfo    = unix.GPIOV2LineInfo
	LineRequest = unix.GPIOV2LineRequest
	LineConfig  = unix.GPIOV2LineConfig
	LineValues  = unix.GPIOV2LineValues
	LineEvent   = unix.GPIOV2LineEvent
)

// LinesMax is how many lines one request can hold.
const LinesMax = 64

// Flags of a line, as LineInfo reports them and LineConfig takes them. A request
// with neither FlagInput nor FlagOutput takes its lines as they are.
const (
	FlagUsed         = 1 << 0
	FlagActiveLow    = 1 << 1
	FlagInput        = 1 << 2
	FlagOutput       = 1 << 3
	FlagEdgeRising   = 1 << 4 // of the logical level
	FlagEdgeFalling  = 1 << 5
	FlagOpenDrain    = 1 << 6
	FlagOpenSource   = 1 << 7
	FlagBiasPullUp   = 1 << 8
	FlagBiasPullDown = 1 << 9
	FlagBiasDisabled = 1 << 10
)

// EventsMax is how many events the kernel keeps for one request, at most.
const EventsMax = 16 * LinesMax

// EventRising is the Id of an event that made its line high; the other is falling.
const EventRising = unix.GPIO_V2_LINE_EVENT_RISING_EDGE

// AttrOutputValues is the attribute of a LineConfig that carries output levels.
const AttrOutputValues = unix.GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES

// lineSetConfig is _IOWR(0xb4, 0x0d, struct gpio_v2_line_config), which x/sys
// lacks. It comes from GET_LINE, 0x07 of the same kind, so that it has each
// processor's own direction bits.
const lineSetConfig = unix.GPIO_V2_GET_LINE_IOCTL + 0x0d - 0x07 -
	(unsafe.Sizeof(LineRequest{})-unsafe.Sizeof(LineConfig{}))<<16

// The sizes in the kernel's header, which are the same on every processor.
var (
	_ [68]byte  = [unsafe.Sizeof(ChipInfo{})]byte{}
	_ [256]byte = [unsafe.Sizeof(LineInfo{})]byte{}
	_ [592]byte = [unsafe.Sizeof(LineRequest{})]byte{}
	_ [272]byte = [unsafe.Sizeof(LineConfig{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(LineValues{})]byte{}
	_ [48]byte  = [unsafe.Sizeof(LineEvent{})]byte{}
)

// GetChipInfo fills in v from the chip open at fd.
func GetChipInfo(fd int, v *ChipInfo) error {
	return ioctl(fd, unix.GPIO_GET_CHIPINFO_IOCTL, unsafe.Pointer(v))
}

// GetLineInfo fills in v for the line v.Offset of the chip open at fd; v must be
// zero but for its Offset.
func GetLineInfo(fd int, v *LineInfo) error {
	return ioctl(fd, unix.GPIO_V2_GET_LINEINFO_IOCTL, unsafe.Pointer(v))
}

// GetLine requests the lines of v from the chip open at fd. The request's own
// descriptor comes back in v.Fd; it is close-on-exec.
func GetLine(fd int, v *LineRequest) error {
	return ioctl(fd, unix.GPIO_V2_GET_LINE_IOCTL, unsafe.Pointer(v))
}

// SetConfig reconfigures the lines of the request fd.
func SetConfig(fd int, v *LineConfig) error {
	return ioctl(fd, lineSetConfig, unsafe.Pointer(v))
}

// GetValues reads the lines of the request fd that v.Mask names into v.Bits.
func GetValues(fd int, v *LineValues) error {
	return ioctl(fd, unix.GPIO_V2_LINE_GET_VALUES_IOCTL, unsafe.Pointer(v))
}

// SetValues sets the lines of the request fd that v.Mask names to v.Bits.
func SetValues(fd int, v *LineValues) error {
	return ioctl(fd, unix.GPIO_V2_LINE_SET_VALUES_IOCTL, unsafe.Pointer(v))
}

// SetDebounce adds the debounce of all lines to v, in microseconds.
func SetDebounce(v *LineConfig, us uint32) {
	a := &v.Attrs[v.Num_attrs]
	a.Attr.Id = unix.GPIO_V2_LINE_ATTR_ID_DEBOUNCE
	*(*uint32)(unsafe.Pointer(&a.Attr.Flags)) = us // in a union with the flags
	a.Mask = 1<<LinesMax - 1
	v.Num_attrs++
}

// Debounce is the debounce of a line in microseconds, or 0.
func Debounce(v *LineInfo) uint32 {
	for i := range min(int(v.Num_attrs), len(v.Attrs)) {
		if v.Attrs[i].Id == unix.GPIO_V2_LINE_ATTR_ID_DEBOUNCE {
			return *(*uint32)(unsafe.Pointer(&v.Attrs[i].Flags))
		}
	}
	return 0
}

// ReadEvents reads events of the request fd into events, as many as there are. It
// waits for the first: ask with poll before.
func ReadEvents(fd int, events []LineEvent) (int, error) {
	const size = int(unsafe.Sizeof(LineEvent{}))
	n, err := unix.Read(fd, unsafe.Slice((*byte)(unsafe.Pointer(&events[0])), len(events)*size))
	return max(n, 0) / size, err
}

func ioctl(fd int, number uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), number, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
