//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// wire plays the other end of an emulated serial port: what hear says to what came
// is sent. It ends with the function it gives.
func (b *board) wire(socket string, hear func(p []byte) []byte) (cut func(), err error) {
	conn, err := b.guest.dial(socket)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p := make([]byte, 4096)
		for {
			n, err := conn.Read(p)
			if err != nil {
				return
			}
			if answer := hear(p[:n]); len(answer) > 0 {
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}
	}()
	return func() { conn.Close(); <-done }, nil
}

// uartPort is a port as uart_list has it.
type uartPort struct{ Port, Driver, USB, Owner, Open string }

func (b *board) uartPort(name string) (uartPort, error) {
	var got struct{ Ports []uartPort }
	if err := b.mcp.tool("uart_list", nil, &got); err != nil {
		return uartPort{}, err
	}
	for _, p := range got.Ports {
		if p.Port == name {
			return p, nil
		}
	}
	return uartPort{}, fmt.Errorf("%s is not among %+v", name, got.Ports)
}

// uartListed checks what uart_list says of a port that is not open.
func uartListed(want uartPort) check {
	return check{"uart_list has " + want.Port + " of " + want.Driver + " " + want.Owner, func(b *board) error {
		got, err := b.uartPort(want.Port)
		if err == nil && got != want {
			err = fmt.Errorf("%+v, want %+v", got, want)
		}
		return err
	}}
}

// uartRefusesOwned checks that a port of the kernel, or our own, stays alone.
func uartRefusesOwned(port, owner string) check {
	return check{"a port of " + owner + " is refused", func(b *board) error {
		p, err := b.uartPort(port)
		if err != nil {
			return err
		}
		if p.Owner != owner {
			return fmt.Errorf("the owner is %q", p.Owner)
		}
		return b.mcp.refused("uart_exchange", arguments{"port": port, "data": "x"}, port, owner)
	}}
}

// received is what uart_exchange and uart_read give.
type received struct {
	Offset, Next, More, Lost int
	Data, Ended, Faults      string
	Hex                      bool
}

// uartExchanges checks that all bytes go both ways, how an answer ends, and that a
// flood is counted.
func uartExchanges(port, socket string) check {
	return check{"uart_exchange on " + port + " loses nothing", func(b *board) error {
		const flood = 100000
		var command []byte
		cut, err := b.wire(socket, func(p []byte) []byte {
			command = append(command, p...)
			switch {
			case string(command) == "flood\n":
				command = nil
				return make([]byte, flood)
			case len(command) >= 256:
				echo := slices.Clone(command)
				command = nil
				return echo
			case string(command) == "ping\n":
				command = nil
				return []byte("pong\r\nmore")
			}
			return nil
		})
		if err != nil {
			return err
		}
		defer cut()
		var got received
		if err := b.mcp.tool("uart_exchange", arguments{"port": port, "data": "ping\n", "until": "ERROR|\r\n", "timeout_ms": 20000}, &got); err != nil {
			return err
		}
		if got.Data != "pong\r\n" || got.Ended != "until" {
			return fmt.Errorf("an exchange gives %+v", got)
		}
		if err := b.mcp.tool("uart_exchange", arguments{"port": port, "until": "nothing", "timeout_ms": 500}, &got); err != nil {
			return err
		}
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		data := fmt.Sprintf("%x", every)
		if err := b.mcp.tool("uart_exchange", arguments{"port": port, "data": data, "hex": true, "length": 256, "timeout_ms": 20000}, &got); err != nil {
			return err
		}
		if strings.ReplaceAll(got.Data, " ", "") != data || got.Ended != "length" {
			return fmt.Errorf("every byte came back as %+v", got)
		}
		before := got.Next
		if err := b.mcp.tool("uart_exchange", arguments{"port": port, "data": "flood\n", "length": 1 << 16, "timeout_ms": 60000}, &got); err != nil {
			return err
		}
		var state struct{ Received int }
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && state.Received < before+flood; time.Sleep(200 * time.Millisecond) {
			if err := b.mcp.tool("uart_control", arguments{"port": port}, &state); err != nil {
				return err
			}
		}
		if state.Received != before+flood {
			return fmt.Errorf("received %d bytes of %d", state.Received-before, flood)
		}
		got = received{}
		if err := b.mcp.tool("uart_read", arguments{"port": port, "since": before, "hex": true}, &got); err != nil {
			return err
		}
		if want := flood - 1<<16; got.Lost != want || got.Offset != before+want {
			return fmt.Errorf("after a flood it gives %+v, want %d lost", got, want)
		}
		return nil
	}}
}

// uartControls checks that lines and modes are set, and shown by the kernel.
func uartControls(port string) check {
	return check{"uart_control sets " + port, func(b *board) error {
		var got struct {
			Mode     string
			Asserted []string
		}
		if err := b.mcp.tool("uart_control", arguments{"port": port, "dtr": false, "rts": true, "mode": "57600 7E2"}, &got); err != nil {
			return err
		}
		if got.Mode != "57600 7E2" || slices.Contains(got.Asserted, "DTR") || !slices.Contains(got.Asserted, "RTS") {
			return fmt.Errorf("%+v", got)
		}
		if err := b.mcp.tool("uart_control", arguments{"port": port, "break_ms": 20, "dtr": true, "mode": "115200 8N1"}, &got); err != nil {
			return err
		}
		if got.Mode != "115200 8N1" || !slices.Contains(got.Asserted, "DTR") {
			return fmt.Errorf("%+v", got)
		}
		var closed struct{ Open bool }
		return b.mcp.tool("uart_control", arguments{"port": port, "close": true}, &closed)
	}}
}

// modbusSpeaks checks that requests go over a port, and that the late answer to a
// request that was given up is not taken for the next.
func modbusSpeaks(port, socket string) check {
	return check{"modbus_read over " + port + " takes no late answer", func(b *board) error {
		var frame []byte
		asked := byte(0)
		cut, err := b.wire(socket, func(p []byte) []byte {
			if frame = append(frame, p...); len(frame) < 8 {
				return nil
			}
			frame = nil
			if asked++; asked == 2 {
				time.Sleep(3 * time.Second)
			}
			answer := []byte{1, 3, 2, 0, asked}
			return binary.LittleEndian.AppendUint16(answer, modbusCRC(answer))
		})
		if err != nil {
			return err
		}
		defer cut()
		read := arguments{"target": port + " 19200 8E1", "address": 7, "timeout_ms": 10000}
		var got struct{ Values []string }
		if err := b.mcp.tool("modbus_read", read, &got); err != nil {
			return err
		}
		if len(got.Values) != 1 || got.Values[0] != "1" {
			return fmt.Errorf("the first read gives %v", got.Values)
		}
		given := arguments{"target": port, "address": 7, "timeout_ms": 2000}
		if err := b.mcp.refused("modbus_read", given, port, "no answer within 2s"); err != nil {
			return err
		}
		if err := b.mcp.tool("modbus_read", read, &got); err != nil {
			return err
		}
		if len(got.Values) != 1 || got.Values[0] != "3" {
			return fmt.Errorf("the read after a late answer gives %v", got.Values)
		}
		return nil
	}}
}

func modbusCRC(p []byte) uint16 {
	crc := uint16(0xffff)
	for _, v := range p {
		crc ^= uint16(v)
		for range 8 {
			crc = crc>>1 ^ crc&1*0xa001
		}
	}
	return crc
}

// uartUnplugged pulls a USB adapter while a call waits for it, and plugs it in
// again: the call ends at once, and the port opens by its old name.
func uartUnplugged(port, usb, id, socket string) check {
	return check{port + " is pulled out and comes back", func(b *board) error {
		cut, err := b.wire(socket, func(p []byte) []byte { return []byte("pong\n") })
		if err != nil {
			return err
		}
		defer cut()
		var got received
		ping := arguments{"port": usb, "data": "ping\n", "until": "\n", "timeout_ms": 20000}
		if err := b.mcp.tool("uart_exchange", ping, &got); err != nil {
			return err
		}
		waits, err := b.mcp.request("tools/call", map[string]any{"name": "uart_exchange", "arguments": arguments{"port": port, "until": "never", "timeout_ms": 50000}})
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		if err := b.monitor.ask("device_del", map[string]any{"id": id}, nil); err != nil {
			return err
		}
		pulled := time.Now()
		a, err := b.mcp.next()
		if err != nil {
			return err
		}
		if a.ID != waits || !strings.Contains(string(a.Result), port+": the device is gone") {
			return fmt.Errorf("the call that waited got %s", a.Result)
		}
		// A second of the guest's, which is emulated.
		if d := time.Since(pulled); d > 10*time.Second {
			return fmt.Errorf("it was noticed after %v", d)
		}
		if err := b.mcp.refused("uart_exchange", ping, "not found"); err != nil {
			return err
		}
		if err := b.monitor.ask("device_add", map[string]any{"driver": "usb-serial", "id": id, "chardev": socket, "always-plugged": true}, nil); err != nil {
			return err
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
			err := b.mcp.tool("uart_exchange", ping, &got)
			if err == nil && got.Data == "pong\n" {
				p, err := b.uartPort(port)
				if err == nil && p.Open == "" {
					err = fmt.Errorf("it is not %s again: %+v", port, p)
				}
				return err
			}
			if time.Now().After(end) {
				return fmt.Errorf("it does not come back: %+v %v", got, err)
			}
		}
	}}
}
