//go:build linux

package main

import (
	"fmt"
	"maps"
)

// smbusReadsWritten checks what an adapter that only knows SMBus reads and writes,
// in each of its transactions, against the registers as the guest sees them.
func smbusReadsWritten(bus, address int) check {
	return check{fmt.Sprintf("i2c_read and i2c_write of 0x%02x by SMBus", address), func(b *board) error {
		device := arguments{"bus": bus, "address": hex(address)}
		for _, c := range []struct {
			what, register, data, registers string // registers is empty where a word or a block is kept apart
		}{
			{"byte data", "0x20", "5a", "5a"},
			{"word data", "0x24", "34 12", ""},
			{"an I2C block", "0x30", "de ad be ef", "de ad be ef"},
			{"the longest I2C block", "0x40", block32, block32},
		} {
			write, read := maps.Clone(device), maps.Clone(device)
			n := (len(c.data) + 1) / 3
			write["register"], write["data"] = c.register, c.data
			read["register"], read["length"] = c.register, n
			var written struct{ Written int }
			if err := b.mcp.tool("i2c_write", write, &written); err != nil {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			var got struct{ Data string }
			if err := b.mcp.tool("i2c_read", read, &got); err != nil {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			if written.Written != n || got.Data != c.data {
				return fmt.Errorf("%s: wrote %d bytes and read %q", c.what, written.Written, got.Data)
			}
			if c.registers == "" {
				continue
			}
			seen, err := b.guest.do(nil, "peek", fmt.Sprint(bus), hex(address), c.register, fmt.Sprint(n))
			if err != nil {
				return err
			}
			if seen != c.registers {
				return fmt.Errorf("%s: the registers have %q", c.what, seen)
			}
		}
		return nil
	}}
}

// smbusBlocks checks reads of SMBus blocks, whose length the device tells. The guest
// writes it: boardhand's write is an I2C block of the same bytes where the adapter
// has both, and i2c-stub, which has no wire, keeps the two apart.
func smbusBlocks(bus, address int) check {
	return check{fmt.Sprintf("i2c_read and i2c_transfer of an SMBus block of 0x%02x", address), func(b *board) error {
		if _, err := b.guest.do(nil, "block", fmt.Sprint(bus), hex(address), "0x80", "1", "2", "3", "4", "5"); err != nil {
			return err
		}
		a := arguments{"bus": bus, "address": hex(address), "register": "0x80", "length": 0}
		var got struct{ Data string }
		if err := b.mcp.tool("i2c_read", a, &got); err != nil {
			return err
		}
		if got.Data != "01 02 03 04 05" {
			return fmt.Errorf("read %q", got.Data)
		}
		var transferred struct{ Read []string }
		t := arguments{"bus": bus, "address": hex(address), "messages": []string{"w 80", "rb"}}
		if err := b.mcp.tool("i2c_transfer", t, &transferred); err != nil {
			return err
		}
		if len(transferred.Read) != 1 || transferred.Read[0] != "01 02 03 04 05" {
			return fmt.Errorf("transferred %q", transferred.Read)
		}
		return nil
	}}
}

// smbusRefuses checks that what SMBus has no transaction for is refused with what
// there is, and changes nothing.
func smbusRefuses(bus, address int) check {
	return check{fmt.Sprintf("what SMBus cannot do is refused at 0x%02x", address), func(b *board) error {
		a := arguments{"bus": bus, "address": hex(address), "messages": []string{"w 20", "r 1", "w 24", "r 1"}}
		if err := b.mcp.refused("i2c_transfer", a, a["address"].(string), "SMBus", "32"); err != nil {
			return err
		}
		read := arguments{"bus": bus, "address": hex(address), "register": "0x20", "length": 33}
		if err := b.mcp.refused("i2c_read", read, hex(address), "SMBus", "32"); err != nil {
			return err
		}
		wide := arguments{"bus": bus, "address": hex(address), "register": "0x0020", "register_width": 2}
		if err := b.mcp.refused("i2c_read", wide, hex(address), "SMBus"); err != nil {
			return err
		}
		return b.mcp.refused("i2c_transfer", arguments{"bus": bus, "address": "0x123", "ten_bit": true, "messages": []string{"r 1"}}, "10-bit")
	}}
}

// block32 is as many bytes as SMBus has in one transaction.
const block32 = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e ff"
