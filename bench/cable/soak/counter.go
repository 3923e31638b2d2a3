//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// counter is what the calls act on: a Modbus device on the board's network, reached
// at several addresses. It counts what is asked of it, and outlives whatever process
// asks. A request's unit and address say of which call it is, and its data are that
// call's alone, so that none passes for another.
type counter struct {
	seed      uint64
	listeners []net.Listener
	done      sync.WaitGroup

	mu    sync.Mutex
	runs  map[int]int // by call
	wrong []string    // requests that no call can have made, the first few
}

// The counter's numbers. Every address of 127.0.0.0/8 is this machine's, and has its
// own ports of clients: a hundred thousand connections in turn fit.
const (
	counterAddresses = 16
	callsOfUnit      = 60000
	maxWrong         = 10
)

// place is how a request names its call.
func place(n int) (unit, address int) { return 1 + n/callsOfUnit, n % callsOfUnit }

// registers are the data of a call, count of them.
func registers(seed uint64, n, count int) []uint16 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)|1<<32))
	all := make([]uint16, count)
	for i := range all {
		all[i] = uint16(rng.Uint32())
	}
	return all
}

func newCounter(seed uint64) (*counter, error) {
	c := &counter{seed: seed, runs: map[int]int{}}
	for i := range counterAddresses {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			c.close()
			return nil, err
		}
		c.listeners = append(c.listeners, l)
		c.done.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.done.Go(func() { c.serve(conn) })
			}
		})
	}
	return c, nil
}

func (c *counter) close() {
	for _, l := range c.listeners {
		l.Close()
	}
	c.done.Wait()
}

// target is where call n goes, as modbus_write has it.
func (c *counter) target(n int) string {
	return c.listeners[n%len(c.listeners)].Addr().String()
}

// header is the transaction, the protocol, the length and the unit of a message
// (MODBUS Messaging on TCP/IP Implementation Guide V1.0b, 3.1.3).
const header = 7

// serve answers requests until the other end is gone.
func (c *counter) serve(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, header+256)
	for {
		if _, err := io.ReadFull(conn, buf[:header]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(buf[4:])) - 1
		if n < 5 || n > 253 {
			c.fail(fmt.Errorf("a message of Modbus TCP says it has %d bytes", n))
			return
		}
		pdu := buf[header : header+n]
		if _, err := io.ReadFull(conn, pdu); err != nil {
			return
		}
		answer, slow, err := c.do(int(buf[6]), pdu)
		if err != nil {
			c.fail(fmt.Errorf("unit %d, PDU %x: %w", buf[6], pdu, err))
			return
		}
		if slow {
			time.Sleep(slowCall)
		}
		binary.BigEndian.PutUint16(buf[4:], uint16(1+len(answer)))
		if _, err := conn.Write(append(buf[:header:header], answer...)); err != nil {
			return
		}
	}
}

// Some calls are slow, so that a process that is killed has something under way.
const (
	slowCall  = 300 * time.Millisecond
	slowEvery = 199
)

// do counts a request and gives the answer's PDU (MODBUS Application Protocol
// Specification V1.1b3, 6).
func (c *counter) do(unit int, pdu []byte) (answer []byte, slow bool, err error) {
	address, count := int(binary.BigEndian.Uint16(pdu[1:])), int(binary.BigEndian.Uint16(pdu[3:]))
	call := (unit-1)*callsOfUnit + address
	want := registers(c.seed, call, 125)
	switch pdu[0] {
	case 1: // read coils
		bytes := (count + 7) / 8
		answer = append(answer, pdu[0], byte(bytes))
		for i := range bytes {
			b := byte(want[i/2] >> (8 * (i % 2)))
			if rest := count - 8*i; rest < 8 {
				b &= 1<<rest - 1
			}
			answer = append(answer, b)
		}
	case 3: // read holding registers
		answer = append(answer, pdu[0], byte(2*count))
		for _, v := range want[:count] {
			answer = binary.BigEndian.AppendUint16(answer, v)
		}
	case 6: // write a register: count is its value
		if count != int(want[0]) {
			return nil, false, fmt.Errorf("the value is not that of call %d", call)
		}
		answer = pdu
	case 16: // write registers
		if len(pdu) != 6+2*count {
			return nil, false, errors.New("it is too long or too short")
		}
		for i, v := range want[:count] {
			if binary.BigEndian.Uint16(pdu[6+2*i:]) != v {
				return nil, false, fmt.Errorf("value %d is not that of call %d", i, call)
			}
		}
		answer = pdu[:5]
	default:
		return nil, false, errors.New("no call asks for that function")
	}
	c.mu.Lock()
	c.runs[call]++
	c.mu.Unlock()
	return answer, call%slowEvery == 0, nil
}

func (c *counter) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) < maxWrong {
		c.wrong = append(c.wrong, err.Error())
	}
}

// counted gives what was counted.
func (c *counter) counted() (runs map[int]int, wrong []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs, c.wrong
}
