//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// i2cScan checks what a scan of part of a bus finds: the driver of each address,
// empty where a device answers.
func i2cScan(bus, first, last int, want map[string]string) check {
	return check{fmt.Sprintf("i2c_scan of i2c-%d finds %d devices", bus, len(want)), func(b *board) error {
		var got struct {
			Bus   int
			Found []struct{ Address, Driver string }
		}
		a := arguments{"bus": bus, "first": hex(first), "last": hex(last)}
		if err := b.mcp.tool("i2c_scan", a, &got); err != nil {
			return err
		}
		found := map[string]string{}
		for _, o := range got.Found {
			found[o.Address] = o.Driver
		}
		if got.Bus != bus || len(found) != len(got.Found) || !maps.Equal(found, want) {
			return fmt.Errorf("found %+v, want %v", got, want)
		}
		return nil
	}}
}

// i2cReadsWritten checks that an EEPROM with one byte of address gives what was
// written to it.
func i2cReadsWritten(bus, address int) check {
	return check{fmt.Sprintf("i2c_read of 0x%02x gives what i2c_write wrote", address), func(b *board) error {
		// QEMU's EEPROM takes two bytes of address whatever its size.
		a := arguments{"bus": bus, "address": hex(address), "register": "0x0010", "register_width": 2}
		write, read := maps.Clone(a), maps.Clone(a)
		write["data"], read["length"] = "de ad be ef", 4
		var written struct{ Written int }
		if err := b.mcp.tool("i2c_write", write, &written); err != nil {
			return err
		}
		var got struct {
			Bus     int
			Address string
			Data    string
		}
		if err := b.mcp.tool("i2c_read", read, &got); err != nil {
			return err
		}
		if written.Written != 4 || got.Bus != bus || got.Data != "de ad be ef" {
			return fmt.Errorf("wrote %d bytes and read %+v", written.Written, got)
		}
		return nil
	}}
}

// i2cRefusesDriver checks that the device of a kernel driver is left alone.
func i2cRefusesDriver(bus, address int, driver string) check {
	return check{fmt.Sprintf("0x%02x of the driver %s is refused", address, driver), func(b *board) error {
		a := arguments{"bus": bus, "address": hex(address)}
		if err := b.mcp.refused("i2c_read", a, a["address"].(string)); err != nil {
			return err
		}
		a["data"] = "00"
		return b.mcp.refused("i2c_write", a, a["address"].(string))
	}}
}

// hungBusHoldsUpNobody checks that a line can be read while a transfer on a bus
// that answers nothing waits for the kernel's own limit, and that it fails then.
func hungBusHoldsUpNobody(bus, address int, line string) check {
	return check{fmt.Sprintf("i2c_read on a bus that hangs fails, and %s is read meanwhile", line), func(b *board) error {
		call := func(tool string, a arguments) (int, error) {
			return b.mcp.request("tools/call", map[string]any{"name": tool, "arguments": a})
		}
		slow, err := call("i2c_read", arguments{"bus": bus, "address": hex(address)})
		if err != nil {
			return err
		}
		quick, err := call("gpio_read", arguments{"lines": []string{line}})
		if err != nil {
			return err
		}
		for _, want := range []int{quick, slow} {
			a, err := b.mcp.next()
			if err != nil {
				return err
			}
			if a.ID != want {
				return fmt.Errorf("the answer to %d came first", a.ID)
			}
			var r toolResult
			if err := json.Unmarshal(a.Result, &r); err != nil {
				return err
			}
			var text json.RawMessage
			err = r.decode(&text)
			if late := want == slow; late != r.IsError {
				return fmt.Errorf("answer %d: %v %s", want, err, text)
			}
			if r.IsError && !strings.Contains(err.Error(), "timed out") {
				return err
			}
		}
		return nil
	}}
}

// hex is an address as the tools have it.
func hex(address int) string { return fmt.Sprintf("0x%02x", address) }

// i2cTransfers checks that one transaction with several repeated starts gives what
// an EEPROM holds, from two places, after i2cReadsWritten.
func i2cTransfers(bus, address int) check {
	return check{fmt.Sprintf("i2c_transfer with 0x%02x has its reads after its writes", address), func(b *board) error {
		var got struct{ Read []string }
		a := arguments{"bus": bus, "address": hex(address), "messages": []string{"w 00 10", "r 4", "w 00 12", "r 2"}}
		if err := b.mcp.tool("i2c_transfer", a, &got); err != nil {
			return err
		}
		if !slices.Equal(got.Read, []string{"de ad be ef", "be ef"}) {
			return fmt.Errorf("read %q", got.Read)
		}
		return b.mcp.refused("i2c_transfer", arguments{"bus": bus, "address": "0x123", "ten_bit": true, "messages": []string{"r 1"}}, "10-bit")
	}}
}

// i2cScanInParts checks that a scan of a bus on which each address without a device
// costs long gives what it found in time, and can go on.
func i2cScanInParts(bus int, want map[string]string) check {
	return check{fmt.Sprintf("i2c_scan of all of i2c-%d comes in parts", bus), func(b *board) error {
		found := map[string]string{}
		for first, parts := "0x08", 0; first != ""; parts++ {
			var got struct {
				Found         []struct{ Address, Driver string }
				StoppedBefore string `json:"stopped_before"`
				Functions     []string
			}
			if err := b.mcp.tool("i2c_scan", arguments{"bus": bus, "first": first}, &got); err != nil {
				return err
			}
			for _, o := range got.Found {
				found[o.Address] = o.Driver
			}
			if got.StoppedBefore == first || parts == 20 || !slices.Contains(got.Functions, "transfer") {
				return fmt.Errorf("part %d: %+v", parts, got)
			}
			first = got.StoppedBefore
		}
		for address, driver := range want {
			if d, ok := found[address]; !ok || d != driver {
				return fmt.Errorf("found %v, want %v", found, want)
			}
		}
		return nil
	}}
}
