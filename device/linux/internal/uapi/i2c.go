//go:build linux

package uapi

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What an adapter can do, as Funcs reports it.
const (
	FuncI2C           = 0x00000001
	FuncTenBit        = 0x00000002
	FuncQuick         = 0x00010000
	FuncReadByte      = 0x00020000
	FuncWriteByte     = 0x00040000
	FuncReadByteData  = 0x00080000
	FuncWriteByteData = 0x00100000
	FuncReadWordData  = 0x00200000
	FuncWriteWordData = 0x00400000
	FuncReadBlock     = 0x04000000 // I2C block: the host says how long
	FuncWriteBlock    = 0x08000000
)

// Kinds of SMBus transaction.
const (
	SMBusQuick    = 0
	SMBusByte     = 1
	SMBusByteData = 2
	SMBusWordData = 3
	SMBusI2CBlock = 8
)

// SMBusBlockMax is the longest block of an SMBus transaction, in bytes.
const SMBusBlockMax = 32

const (
	i2cSlave = 0x0703
	i2cFuncs = 0x0705
	i2cRdwr  = 0x0707
	i2cSMBus = 0x0720

	msgRead   = 0x0001
	msgTenBit = 0x0010
)

// SMBusData is the data of an SMBus transaction: a byte, a word in the
// processor's byte order, or a block with its length in front.
type SMBusData [SMBusBlockMax + 2]byte

// Word is the data as a word.
func (d *SMBusData) Word() uint16 { return *(*uint16)(unsafe.Pointer(&d[0])) }

// SetWord makes the data a word.
func (d *SMBusData) SetWord(v uint16) { *(*uint16)(unsafe.Pointer(&d[0])) = v }

type i2cMsg struct {
	addr, flags, len uint16
	buf              unsafe.Pointer
}

type i2cRdwrData struct {
	msgs  unsafe.Pointer
	count uint32
}

type i2cSMBusData struct {
	read, command uint8
	size          uint32
	data          unsafe.Pointer
}

const pointer = unsafe.Sizeof(uintptr(0))

// The sizes in the kernel's headers; pointers are the processor's own.
var (
	_ [8 + pointer]byte = [unsafe.Sizeof(i2cMsg{})]byte{}
	_ [2 * pointer]byte = [unsafe.Sizeof(i2cRdwrData{})]byte{}
	_ [8 + pointer]byte = [unsafe.Sizeof(i2cSMBusData{})]byte{}
)

// Funcs is what the adapter open at fd can do.
func Funcs(fd int) (uint32, error) {
	var funcs uintptr // an unsigned long
	err := ioctl(fd, i2cFuncs, unsafe.Pointer(&funcs))
	return uint32(funcs), err
}

// SetAddress sets the 7-bit address that SMBus speaks to. It is EBUSY where a
// kernel driver owns the address, also behind a multiplexer.
func SetAddress(fd int, addr uint16) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), i2cSlave, uintptr(addr))
	if errno != 0 {
		return errno
	}
	return nil
}

// Transfer writes and then reads after a repeated start, in one transaction;
// either may be empty, not both. Each is at most 8192 bytes. It is EIO where the
// adapter did one message of two and called that no error.
func Transfer(fd int, addr uint16, write, read []byte) error {
	flags := uint16(0)
	if addr > 0x7f {
		flags = msgTenBit
	}
	msgs := new([2]i2cMsg)
	n := 0
	if len(write) > 0 {
		msgs[n] = i2cMsg{addr, flags, uint16(len(write)), unsafe.Pointer(&write[0])}
		n++
	}
	if len(read) > 0 {
		msgs[n] = i2cMsg{addr, flags | msgRead, uint16(len(read)), unsafe.Pointer(&read[0])}
		n++
	}
	arg := &i2cRdwrData{unsafe.Pointer(&msgs[0]), uint32(n)}
	done, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), i2cRdwr, uintptr(unsafe.Pointer(arg)))
	runtime.KeepAlive(msgs)
	runtime.KeepAlive(write)
	runtime.KeepAlive(read)
	switch {
	case errno != 0:
		return errno
	case int(done) < n:
		return unix.EIO
	}
	return nil
}

// SMBus runs one transaction of the given kind with the address set before. data
// may be nil where the kind carries none.
func SMBus(fd int, read bool, command uint8, kind uint32, data *SMBusData) error {
	arg := &i2cSMBusData{command: command, size: kind, data: unsafe.Pointer(data)}
	if read {
		arg.read = 1
	}
	err := ioctl(fd, i2cSMBus, unsafe.Pointer(arg))
	runtime.KeepAlive(data)
	return err
}
