//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"boardhand/bench/client"
)

// outcome is what the caller was told of a call.
type outcome uint8

const (
	waiting outcome = iota
	right           // the right answer
	notDone         // an error that says that it did not run
	unknown         // an error that says that nobody knows
	gone            // the laptop's process was killed before the answer
)

// kind is what a call asks for.
type kind uint8

const (
	write kind = iota // registers of the counter
	read
	readCoils
	list // tools/list, which acts on nothing: it may be asked twice and is not counted
)

// call is a call that was made.
type call struct {
	kind    kind
	count   int // of registers or coils
	pad     int // bytes that mean nothing, in _meta
	outcome outcome
	sent    time.Time
}

// newCall is call n, whose kind and sizes follow the seed.
func newCall(seed uint64, n int) call {
	rng := rand.New(rand.NewPCG(seed, uint64(n)|2<<32))
	c := call{sent: time.Now()}
	switch k := rng.IntN(200); {
	case k < 2:
		c.kind = list
	case k < 4:
		c.kind, c.count = readCoils, 1+rng.IntN(1999)
	case k < 12:
		c.kind, c.count = read, 1+rng.IntN(125)
	case k < 16:
		c.count = 1 + rng.IntN(123)
	case k < 24:
		c.count, c.pad = 1, rng.IntN(1000)
	case k < 25:
		c.count, c.pad = 1, rng.IntN(20_000)
	default:
		c.count = 1 + rng.IntN(3)
	}
	return c
}

// request is the text of call n.
func (c *call) request(n int, stateful bool, to *counter) string {
	meta := ""
	if !stateful {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + c.padding(n, `,"soak/pad":"`) + `},`
	} else if c.pad > 0 {
		meta = `"_meta":{` + c.padding(n, `"soak/pad":"`) + `},`
	}
	if c.kind == list {
		return client.Request(n+1, "tools/list", `{`+strings.TrimSuffix(meta, ",")+`}`)
	}
	unit, address := place(n)
	tool, what := "modbus_read", `"count":`+strconv.Itoa(c.count)
	switch c.kind {
	case write:
		var values []string
		for _, v := range registers(to.seed, n, c.count) {
			values = append(values, strconv.Itoa(int(v)))
		}
		tool, what = "modbus_write", `"values":"`+strings.Join(values, ",")+`"`
	case readCoils:
		what += `,"kind":"coil"`
	}
	arguments := fmt.Sprintf(`{"target":"%s","unit":%d,"address":%d,%s}`, to.target(n), unit, address, what)
	return client.Request(n+1, "tools/call", `{`+meta+`"name":"`+tool+`","arguments":`+arguments+`}`)
}

// padding is what hardly compresses.
func (c *call) padding(n int, before string) string {
	if c.pad == 0 {
		return ""
	}
	rng := rand.New(rand.NewPCG(uint64(n), uint64(c.pad)))
	b := make([]byte, c.pad)
	for i := range b {
		b[i] = byte('#' + rng.IntN('Z'-'#'))
	}
	return before + string(b) + `"`
}

// judge says what an answer to call n tells its caller. wantList is the only right
// answer to tools/list.
func (c *call) judge(m *client.Message, n int, seed uint64, wantList string) (outcome, error) {
	if m.Error != nil {
		var data struct{ Outcome string }
		_ = json.Unmarshal(m.Error.Data, &data)
		switch data.Outcome {
		case "unknown":
			if c.kind == list {
				return 0, errors.New("what only reads was not asked again")
			}
			return unknown, nil
		case "not done":
			return notDone, nil
		}
		return 0, errors.New("an error that does not say what became of it")
	}
	if c.kind == list {
		if string(m.Result) != wantList {
			return 0, errors.New("another list than over standard input and output")
		}
		return right, nil
	}
	t, err := m.Tool()
	if err != nil {
		return 0, err
	}
	var got struct {
		Unit, Address, Written int
		Kind, Type, Bits       string
		Confirmed              bool
		Values                 []string
	}
	if err := json.Unmarshal(t.StructuredContent, &got); err != nil || t.IsError || t.Text() != string(t.StructuredContent) {
		return 0, fmt.Errorf("a wrong result, %v", err)
	}
	unit, address := place(n)
	good := got.Unit == unit && got.Address == address
	data := registers(seed, n, 125)
	switch c.kind {
	case write:
		good = good && got.Written == c.count && got.Confirmed
	case read:
		var values []string
		for _, v := range data[:c.count] {
			values = append(values, strconv.Itoa(int(v)))
		}
		good = good && slices.Equal(got.Values, values)
	case readCoils:
		bits := make([]byte, c.count)
		for i := range bits {
			bits[i] = '0' + byte(data[i/16]>>(i%16)&1)
		}
		good = good && got.Bits == string(bits)
	}
	if !good {
		return 0, errors.New("a wrong result")
	}
	return right, nil
}
