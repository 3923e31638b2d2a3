//go:build linux

package linux

import (
	"slices"
	"testing"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

var busTree = map[string]string{
	"sys/bus/i2c/devices/i2c-10/name":   "i915 gmbus\n",
	"sys/bus/i2c/devices/i2c-1/name":    "bcm2835 (i2c@7e804000)\n",
	"sys/bus/i2c/devices/1-0076/driver": "-> ../../../../bus/i2c/drivers/bmp280",
	"sys/bus/i2c/devices/1-0050/name":   "24c02\n",
	"sys/bus/i2c/devices/1-a123/driver": "-> ../../../../bus/i2c/drivers/ten",
	"dev/i2c-1":                         "",
	"dev/i2c-2":                         "",
	"dev/i2c-dev":                       "",
	"dev/i2c-03":                        "",
	"sys/bus/i2c/devices/i2c-11/name":   "a\x01\xff\n",
}

func TestBusesAreListedByNumber(t *testing.T) {
	got, err := open(tree(t, busTree)).I2C().Buses([]device.Bus{{Number: 99}})
	must(t, err)
	want := []device.Bus{{Number: 99}, {Number: 1, Name: "bcm2835 (i2c@7e804000)"}, {Number: 2}, {Number: 10, Name: "i915 gmbus"}, {Number: 11}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestADriverOwnsItsAddress(t *testing.T) {
	i := open(tree(t, busTree)).i2c
	for addr, want := range map[uint16]string{0x76: "bmp280", 0x50: "", 0x51: "", device.TenBit | 0x123: "ten"} {
		if got := i.driver(1, addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
}

func TestWhatABusRefuses(t *testing.T) {
	c := open(tree(t, busTree)).I2C()
	one := make([]byte, 1)
	_, scanTooHigh := c.Scan(1, 0x08, 0x80, nil, device.Scanning{})
	_, scanBackwards := c.Scan(1, 9, 8, nil, device.Scanning{})
	for _, e := range []struct {
		name  string
		err   error
		kind  error
		words []string
	}{
		{"a bus that is not there", c.Transfer(7, 0x50, one, one), device.ErrNotFound, []string{"i2c-7 not found; this board has i2c-1, i2c-2, i2c-10, i2c-11"}},
		{"a bus without a node", c.Transfer(10, 0x50, one, one), device.ErrNotSupport, []string{"i2c-10", "modprobe i2c-dev"}},
		{"a node that is no bus", c.Transfer(2, 0x50, one, one), device.ErrNotSupport, []string{"i2c-2", noDevice(t)}},
		{"nothing", c.Transfer(1, 0x50, nil, nil), device.ErrNotSupport, []string{"i2c-1 address 0x50: nothing to write and nothing to read"}},
		{"too much", c.Transfer(1, 0x08, nil, make([]byte, 8193)), device.ErrNotSupport, []string{"address 0x08: 8193 bytes", "8192"}},
		{"an address of 11 bits", c.Transfer(1, 0x400, nil, one), device.ErrNotSupport, []string{"0x400"}},
		{"a scan above 0x7f", scanTooHigh, device.ErrNotSupport, []string{"i2c-1", "0x80", "0x77"}},
		{"a scan backwards", scanBackwards, device.ErrNotSupport, []string{"from 0x09 to 0x08"}},
	} {
		t.Run(e.name, func(t *testing.T) { expect(t, e.err, e.kind, e.words...) })
	}
}

func TestSMBusStandsInWhereItHasTheSameBytes(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		funcs       uint32
		write, read int
		want        smbus
		ok          bool
	}{
		{all, 0, 1, smbus{uapi.SMBusByte, true}, true},
		{all, 0, 2, smbus{}, false},
		{all, 1, 0, smbus{uapi.SMBusByte, false}, true},
		{all, 1, 1, smbus{uapi.SMBusByteData, true}, true},
		{all, 1, 2, smbus{uapi.SMBusWordData, true}, true},
		{all, 1, 3, smbus{uapi.SMBusI2CBlock, true}, true},
		{all, 1, 32, smbus{uapi.SMBusI2CBlock, true}, true},
		{all, 1, 33, smbus{}, false},
		{all, 2, 0, smbus{uapi.SMBusByteData, false}, true},
		{all, 3, 0, smbus{uapi.SMBusWordData, false}, true},
		{all, 4, 0, smbus{uapi.SMBusI2CBlock, false}, true},
		{all, 33, 0, smbus{uapi.SMBusI2CBlock, false}, true},
		{all, 34, 0, smbus{}, false},
		{all, 2, 1, smbus{}, false},
		{uapi.FuncReadBlock, 1, 2, smbus{uapi.SMBusI2CBlock, true}, true},
		{uapi.FuncWriteBlock, 3, 0, smbus{uapi.SMBusI2CBlock, false}, true},
		{uapi.FuncReadByteData | uapi.FuncWriteByteData, 1, 2, smbus{}, false},
		{uapi.FuncReadByteData | uapi.FuncWriteByteData, 3, 0, smbus{}, false},
		{0, 1, 1, smbus{}, false},
	} {
		if got, ok := smbusFor(c.funcs, make([]byte, c.write), c.read, false); got != c.want || ok != c.ok {
			t.Errorf("funcs %#x, %d out, %d in: %+v %v, want %+v %v", c.funcs, c.write, c.read, got, ok, c.want, c.ok)
		}
	}
	if got, want := smbusLimits(uapi.FuncReadWordData|uapi.FuncReadByteData|uapi.FuncWriteByteData), "it can read up to 2 and write up to 1 bytes of a one-byte register"; got != want {
		t.Error(got)
	}
}

func TestSMBusBlocks(t *testing.T) {
	const blocks = uapi.FuncBlockRead | uapi.FuncBlockWrite
	for _, c := range []struct {
		name  string
		funcs uint32
		write []byte
		read  int
		block bool
		want  smbus
		ok    bool
	}{
		{"a read", blocks, []byte{7}, 33, true, smbus{uapi.SMBusBlock, true}, true},
		{"a read without a command", blocks, nil, 33, true, smbus{uapi.SMBusBlock, true}, false},
		{"a read that the adapter lacks", uapi.FuncReadBlock, []byte{7}, 33, true, smbus{uapi.SMBusBlock, true}, false},
		{"a write with its count", blocks, []byte{7, 2, 8, 9}, 0, false, smbus{uapi.SMBusBlock, false}, true},
		{"a write with another count", blocks, []byte{7, 3, 8, 9}, 0, false, smbus{}, false},
		{"an empty write", blocks, []byte{7, 0}, 0, false, smbus{}, false},
		{"a write too long", blocks, append([]byte{7, 33}, make([]byte, 33)...), 0, false, smbus{}, false},
		{"a write where the adapter writes any bytes", blocks | uapi.FuncWriteBlock, []byte{7, 2, 8, 9}, 0, false, smbus{uapi.SMBusI2CBlock, false}, true},
	} {
		if got, ok := smbusFor(c.funcs, c.write, c.read, c.block); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestMessagesThatSMBusCanSend(t *testing.T) {
	w, r := device.Message{Addr: 0x50, Data: []byte{1}}, device.Message{Addr: 0x50, Read: true, Data: []byte{0}}
	other := device.Message{Addr: 0x51, Read: true, Data: []byte{0}}
	for _, c := range []struct {
		messages []device.Message
		ok       bool
		shape    string
	}{
		{[]device.Message{w}, true, "1 bytes out and 0 in"},
		{[]device.Message{r}, true, "0 bytes out and 1 in"},
		{[]device.Message{w, r}, true, "1 bytes out and 1 in"},
		{[]device.Message{w, other}, false, "2 messages so"},
		{[]device.Message{r, w}, false, "2 messages so"},
		{[]device.Message{w, w}, false, "2 messages so"},
		{[]device.Message{w, r, r}, false, "3 messages so"},
	} {
		if _, _, _, ok := asSMBus(c.messages); ok != c.ok || shape(c.messages) != c.shape {
			t.Errorf("%+v: %v, %s", c.messages, ok, shape(c.messages))
		}
	}
}

func TestWhatAnAdapterCanDo(t *testing.T) {
	for bits, want := range map[uint32]device.Functions{
		0:                              0,
		uapi.FuncI2C:                   device.FuncTransfer,
		uapi.FuncI2C | uapi.FuncTenBit: device.FuncTransfer | device.FuncTenBit,
		uapi.FuncTenBit:                0,
		uapi.FuncReadByte:              0,
		0x0eff0008:                     device.FuncQuick | device.FuncByte | device.FuncByteData | device.FuncWordData | device.FuncI2CBlock | device.FuncBlockWrite,
	} {
		if got := functions(bits); got != want {
			t.Errorf("%#x is %q, want %q", bits, got.AppendNames(nil), want.AppendNames(nil))
		}
	}
}
