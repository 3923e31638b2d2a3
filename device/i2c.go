package device

// Bus is one I2C bus.
type Bus struct {
	Number    int       // as in /dev/i2c-1
	Name      string    // the adapter's name: "bcm2835 (i2c@7e804000)"
	Functions Functions // what the adapter can do; none where it cannot be opened
}

// Functions is a set of what an adapter can do (the kernel's functionality bits,
// Documentation/i2c/functionality.rst).
type Functions uint16

// The functions.
const (
	FuncTransfer   Functions = 1 << iota // any transfer, with repeated starts
	FuncTenBit                           // 10-bit addresses
	FuncQuick                            // SMBus: the address alone
	FuncByte                             // SMBus: one byte without a register
	FuncByteData                         // SMBus: a byte of a register
	FuncWordData                         // SMBus: two bytes of a register
	FuncI2CBlock                         // up to 32 bytes of a register
	FuncBlockRead                        // SMBus: a block whose length the device tells
	FuncBlockWrite                       // SMBus: a block with its length in front
)

var functionNames = [...]string{"transfer", "ten_bit", "quick", "byte", "byte_data", "word_data", "i2c_block", "block_read", "block_write"}

// AppendNames appends the name of each function in the set.
func (f Functions) AppendNames(dst []string) []string {
	for i, name := range functionNames {
		if f>>i&1 != 0 {
			dst = append(dst, name)
		}
	}
	return dst
}

// TenBit marks an address as one of 10 bits: TenBit|0x123.
const TenBit = 1 << 15

// Occupant is one address of an I2C bus at which something was found.
type Occupant struct {
	Addr uint16
	// Driver is the kernel driver bound to the address ("bme280"); such an
	// address is not probed and not open to transfers. Empty: a device answered.
	Driver string
	// Name and Description are what the board file says of it, or empty.
	Name, Description string
}

// Scanning is how a scan tells its caller where it is. Both functions may be nil.
type Scanning struct {
	Progress func(done, total int) // after each address
	Stop     func() bool           // true ends the scan early with ErrCancelled
}

// Message is one part of a transaction.
type Message struct {
	Addr uint16 // 7 bits, or 10 with TenBit
	Read bool
	// Data is what is written, or where what is read goes.
	Data []byte
	// Block says that the device tells how many bytes follow, in the first (an SMBus
	// block read): Data has MaxBlock+1 bytes, of which Data[0] tells how many of the
	// others are valid. Only of a read.
	Block bool
}

// MaxMessages is how many messages one transaction can have (I2C_RDWR_IOCTL_MAX_MSGS).
const MaxMessages = 42

// MaxBlock is the longest block of SMBus, in bytes, its length not counted.
const MaxBlock = 32

// MaxTransfer is the most bytes that one part of a transfer, the write or the
// read, can have: the limit of I2C_RDWR in the kernel's i2c-dev.
const MaxTransfer = 8192

// I2C is a board's I2C buses. Transfers on one bus must not overlap: the caller
// runs them on the bus's own queue.
type I2C interface {
	// Buses appends every bus, by number.
	Buses(dst []Bus) ([]Bus, error)
	// Scan appends what it finds at addresses first to last (7 bit, 0x08 to 0x77
	// by custom), by address. It reads one byte at 0x30-0x37 and 0x50-0x5f, where
	// a write would upset an EEPROM, and sends an empty write elsewhere, as
	// i2cdetect does. An address above 0x7f, or first above last, is ErrNotSupport.
	// A bus on which nothing answers and address after address times out is
	// ErrTimeout (see Sweep). With an error, what was found before it is appended too.
	Scan(bus int, first, last uint16, dst []Occupant, s Scanning) ([]Occupant, error)
	// Transfer writes write, then reads len(read) bytes after a repeated start,
	// in one transaction; either may be empty, not both. An address that a
	// kernel driver owns is ErrBusy. It keeps neither slice. Both empty, either
	// longer than MaxTransfer, or an address that the bus cannot send is
	// ErrNotSupport. A bus that the board lacks is ErrNotFound.
	Transfer(bus int, addr uint16, write, read []byte) error
	// Transact runs the messages in one transaction, with a repeated start between
	// each two and a stop at the end. They may have different addresses. It fails as
	// Transfer does; which message failed is not known. No message, more than
	// MaxMessages, and a Block on an adapter without FuncBlockRead is ErrNotSupport.
	// It keeps no slice.
	Transact(bus int, messages []Message) error
}
