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
	FuncBlockRead     = 0x01000000 // SMBus block: the device says how long
	FuncBlockWrite    = 0x02000000
	FuncReadBlock     = 0x04000000 // I2C block: the host says how long
	FuncWriteBlock    = 0x08000000
)

// Kinds of SMBus transaction.
const (
	SMBusQuick    = 0
	SMBusByte     = 1
	SMBusByteData = 2
	SMBusWordData = 3
	SMBusBlock    = 5
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
	msgBlock  = 0x0400 // I2C_M_RECV_LEN
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

// Message is one message of a transaction: to 7 bits of address or 10, a write of
// data, a read into it or, with Block, a read of which the device tells the length:
// then data[0] must be 1, and the rest has room for SMBusBlockMax bytes.
type Message struct {
	Addr                uint16
	TenBit, Read, Block bool
	Data                []byte
}

// Transact runs the messages in one transaction; none may be empty or have more
// than 8192 bytes. It is EIO where the adapter did fewer messages than were asked
// for and called that no error.
func Transact(fd int, messages []Message) error {
	msgs := make([]i2cMsg, len(messages))
	for i := range messages {
		m := &messages[i]
		msgs[i] = i2cMsg{addr: m.Addr, len: uint16(len(m.Data)), buf: unsafe.Pointer(&m.Data[0])}
		for _, f := range []struct {
			set  bool
			flag uint16
		}{{m.TenBit, msgTenBit}, {m.Read, msgRead}, {m.Block, msgBlock}} {
			if f.set {
				msgs[i].flags |= f.flag
			}
		}
	}
	arg := &i2cRdwrData{unsafe.Pointer(&msgs[0]), uint32(len(msgs))}
	done, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), i2cRdwr, uintptr(unsafe.Pointer(arg)))
	runtime.KeepAlive(msgs)
	runtime.KeepAlive(messages)
	switch {
	case errno != 0:
		return errno
	case int(done) < len(msgs):
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
