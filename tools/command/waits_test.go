//go:build linux

package command_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"boardhand/bench/client"
	"boardhand/rpc"
)

// While a bus hangs, everything else answers, and the calls on the bus end at
// their deadline.
func TestJammedBusHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	c := serve(t, "--config", wiredAs(t, "[[sim.jam]]\nbus = 1\nseconds = 30\n"))
	if _, err := c.Initialize("2025-11-25"); err != nil {
		t.Fatal(err)
	}
	// Two: one hangs in the transfer, one waits for its turn.
	send(t, c, client.ModernRequest(1001, "tools/call", client.CallTool("i2c_read", `{"address":"0x76","register":"0xd0"}`)),
		client.Request(1002, "tools/call", client.CallTool("i2c_scan", "")))
	began := time.Now()
	for range 20 {
		inStep(t, c)
		if m := call(t, c, "tools/list", ""); m.Error != nil {
			t.Errorf("tools/list: %s", m.Raw)
		}
		if m, _, err := c.Ask("ping", ""); err != nil || m.Error != nil {
			t.Fatalf("ping: %v %v", err, m)
		}
		if got := tool(t, c, "gpio_read", `{"lines":"GPIO17"}`); !strings.Contains(got, `"level":0`) {
			t.Errorf("gpio_read: %s", got)
		}
		tool(t, c, "gpio_write", `{"line":"GPIO22","level":1,"for_ms":5}`)
		for strings.Contains(tool(t, c, "gpio_list", `{"match":"GPIO22"}`), "held") {
			time.Sleep(time.Millisecond) // a pulse ends by itself
		}
	}
	if asked := time.Since(began); asked > rpc.DefaultTimeout/2 {
		t.Fatalf("120 calls beside the jammed bus took %v", asked)
	}
	var ended []string
	for range 2 {
		m := recv(t, c)
		ended = append(ended, string(m.ID))
		r, err := m.Tool()
		if err != nil || !r.IsError {
			t.Fatalf("a call on the jammed bus gave %s", m.Raw)
		}
		for _, word := range []string{"i2c-1", "10s"} {
			if !strings.Contains(r.Text(), word) {
				t.Errorf("the error does not name %s: %s", word, r.Text())
			}
		}
	}
	if slices.Sort(ended); !slices.Equal(ended, []string{"1001", "1002"}) {
		t.Errorf("calls %q ended", ended)
	}
	if took := time.Since(began); took < rpc.DefaultTimeout-time.Second || took > rpc.DefaultTimeout+5*time.Second {
		t.Errorf("the calls on the jammed bus ended after %v, want %v", took, rpc.DefaultTimeout)
	}
	inStep(t, c)
	if rest := drain(t, c); len(rest) > 0 { // though a transfer still hangs
		t.Errorf("after the end of input came %s", rest[0].Raw)
	}
}

// Clients cut what is longer than some 10 KB: what a tool gives without further
// arguments stays below 8 KB, as it goes over the wire.
func TestDefaultAnswerOfEveryToolIsShort(t *testing.T) {
	t.Parallel()
	const limit, listLimit = 8000, 12000 // the list, with every family there is
	samples := map[string]string{
		"lines": `["GPIO17","GPIO27"]`, "line": `"GPIO17"`, "level": `1`,
		"channel": `"pwmchip0/0"`, "duty": `"25%"`, "led": `"ACT"`, "state": `"on"`,
		"address": `"0x50"`, "data": `"00 00"`, "sensor": `"cpu-thermal"`, "set": `"in"`, "high_us": `10`, "messages": `["r@50 1"]`,
		"port": `"ttyUSB0"`, "target": `"ttyUSB1"`, "values": `"1"`, "id": `"7df"`, "modbus_read.address": `0`, "modbus_write.address": `0`,
	}
	for _, revision := range append([]string{""}, rpc.Versions()[1:]...) {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			c := serve(t, "--config", wiredAs(t, "[sim]\ncan = \"up\"\npwm = true\n"))
			ask := c.Call
			if revision != "" {
				ask = c.Ask
				if _, err := c.Initialize(revision); err != nil {
					t.Fatal(err)
				}
			}
			list, _, err := ask("tools/list", "")
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Raw) > listLimit {
				t.Errorf("tools/list has %d bytes", len(list.Raw))
			}
			var all struct {
				Tools []struct {
					Name        string
					InputSchema struct{ Required []string }
				}
				NextCursor string
			}
			if err := json.Unmarshal(list.Result, &all); err != nil || len(all.Tools) == 0 || all.NextCursor != "" {
				t.Fatalf("tools/list: %v: %s", err, list.Raw)
			}
			for _, item := range all.Tools {
				var arguments []string
				if item.Name == "spi_transfer" { // the board has two devices
					arguments = append(arguments, `"device":"spidev0.0"`)
				}
				for _, name := range item.InputSchema.Required {
					sample := cmp.Or(samples[item.Name+"."+name], samples[name])
					if sample == "" {
						t.Fatalf("%s requires %q, of which this test has no sample", item.Name, name)
					}
					arguments = append(arguments, `"`+name+`":`+sample)
				}
				m, _, err := ask("tools/call", client.CallTool(item.Name, "{"+strings.Join(arguments, ",")+"}"))
				if err != nil {
					t.Fatal(err)
				}
				r, err := m.Tool()
				if err != nil || r.IsError {
					t.Errorf("%s: %v %s", item.Name, err, r.Text())
				}
				if len(m.Raw) > limit {
					t.Errorf("%s answers with %d bytes", item.Name, len(m.Raw))
				}
			}
		})
	}
}

// A cancelled call sends nothing more: no answer, no progress, no log message;
// neither while it runs on nor when it would have ended.
func TestCancelledCallSendsNothingMore(t *testing.T) {
	t.Parallel()
	meta := strings.TrimSuffix(client.Modern, "}") + `,"io.modelcontextprotocol/logLevel":"debug","progressToken":"p"}`
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	for name, fault := range map[string]string{
		"that hangs": "[[sim.jam]]\nbus = 1\nseconds = 1\n",
		"that works": "[[sim.slow]]\nbus = 1\nms = 10\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, "--config", wiredAs(t, fault))
			send(t, c,
				`{"jsonrpc":"2.0","id":"running","method":"tools/call","params":{"name":"i2c_scan",`+meta+`}}`,
				`{"jsonrpc":"2.0","id":"waiting","method":"tools/call","params":{"name":"i2c_scan",`+meta+`}}`,
				client.ModernRequest(500, "server/discover", ""))
			for string(recv(t, c).ID) != "500" { // progress and log messages may come before
			}
			send(t, c, cancel(`"running"`), cancel(`"waiting"`), cancel(`"waiting"`), cancel("7"), client.ModernRequest(501, "server/discover", ""))
			for {
				m := recv(t, c)
				if string(m.ID) == "501" {
					break // what was sent before the cancellation was read
				}
				if m.ID != nil {
					t.Fatalf("a cancelled call gave %s", m.Raw)
				}
			}
			time.Sleep(1500 * time.Millisecond) // longer than either would have taken
			inStep(t, c)
			// The bus is free again, and the id too.
			if name == "that works" {
				send(t, c, `{"jsonrpc":"2.0","id":"running","method":"tools/call","params":{`+client.Modern+`,"name":"i2c_read","arguments":{"address":"0x76"}}}`)
				if m := recv(t, c); string(m.ID) != `"running"` || m.Error != nil {
					t.Errorf("a further call gave %s", m.Raw)
				}
			}
			if rest := drain(t, c); len(rest) > 0 {
				t.Errorf("after the end of input came %s", rest[0].Raw)
			}
		})
	}
}

func TestEndOfInputEndsTheServer(t *testing.T) {
	for name, text := range map[string]string{
		"at once":                    "",
		"after a request":            client.ModernRequest(1, "server/discover", "") + "\n",
		"in a line":                  `{"jsonrpc":"2.0",`,
		"in a header":                "Content-Le",
		"in a body":                  "Content-Length: 100\r\n\r\n{",
		"after an output was set":    client.ModernRequest(1, "tools/call", client.CallTool("gpio_write", `{"line":"GPIO17","level":1}`)) + "\n",
		"in a pulse":                 client.ModernRequest(1, "tools/call", client.CallTool("gpio_write", `{"line":"GPIO17","level":1,"for_ms":86400000}`)) + "\n",
		"after a line was set up":    client.ModernRequest(1, "tools/call", client.CallTool("gpio_configure", `{"line":"GPIO17","set":"high open_drain"}`)) + "\n",
		"in a train of pulses":       client.ModernRequest(1, "tools/call", client.CallTool("gpio_pulse", `{"line":"GPIO17","high_us":20000,"count":3}`)) + "\n",
		"while it waits for an edge": client.ModernRequest(1, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO17","timeout_ms":100}`)) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			if _, err := io.WriteString(c.In, text); err != nil {
				t.Fatal(err)
			}
			if err := c.CloseInput(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c.Out); err != nil {
				t.Fatal(err)
			}
			exits(t, c)
		})
	}
}

// The states in which a server may be told to end.
var states = map[string]func(t *testing.T) *client.Client{
	"that pulses a line and waits for an edge": func(t *testing.T) *client.Client {
		c := serve(t)
		inStep(t, c)
		send(t, c, client.ModernRequest(100, "tools/call", client.CallTool("gpio_pulse", `{"line":"GPIO17","high_us":10000000,"count":3}`)),
			client.ModernRequest(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO22","timeout_ms":60000}`)))
		inStep(t, c)
		return c
	},
	"that waits": func(t *testing.T) *client.Client {
		c := serve(t)
		inStep(t, c)
		return c
	},
	"that has waited long": func(t *testing.T) *client.Client {
		c := serve(t)
		inStep(t, c)
		time.Sleep(300 * time.Millisecond)
		return c
	},
	"that holds outputs": func(t *testing.T) *client.Client {
		c := serve(t)
		tool(t, c, "gpio_write", `{"line":"GPIO17","level":1}`)
		tool(t, c, "gpio_write", `{"line":"GPIO22","level":1,"for_ms":60000}`)
		return c
	},
	"with a jammed bus": func(t *testing.T) *client.Client {
		c := serve(t, "--config", wiredAs(t, "[[sim.jam]]\nbus = 1\nseconds = 0\n"))
		send(t, c, client.ModernRequest(100, "tools/call", client.CallTool("i2c_scan", "")))
		inStep(t, c)
		return c
	},
	"whose client does not read": func(t *testing.T) *client.Client {
		c := serve(t)
		inStep(t, c)
		go func() { _ = c.Send(slices.Repeat([]string{client.ModernRequest(1, "tools/list", "")}, 1000)...) }()
		time.Sleep(200 * time.Millisecond)
		return c
	},
}

func TestSignalsEndTheServer(t *testing.T) {
	for name, start := range states {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
			t.Run(name+"/"+signal.String(), func(t *testing.T) {
				t.Parallel()
				c := start(t)
				if err := c.Signal(signal); err != nil {
					t.Fatal(err)
				}
				exits(t, c)
				if strings.Contains(c.Stderr(), "closing the board") {
					t.Errorf("lines were not put back: %s", c.Stderr())
				}
			})
		}
	}
}

// The client was killed, and a child of its own still holds the other end of our
// input: here the test itself.
func TestServerEndsWhenItsParentIsKilled(t *testing.T) {
	for name, fault := range map[string]string{
		"that waits":        "",
		"with a jammed bus": "[[sim.jam]]\nbus = 1\nseconds = 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := launch(t, client.Pipes, exec.Command("sh", "-c", `"$0" serve --board sim --config "$1"; exit 0`, exe, wiredAs(t, fault)))
			if fault != "" {
				send(t, c, client.ModernRequest(100, "tools/call", client.CallTool("i2c_scan", "")))
			}
			inStep(t, c)
			time.Sleep(50 * time.Millisecond)
			if err := c.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// Its end of our pipe closes when it has ended, and not before.
			if raw, err := c.Recv(time.Second); err != io.EOF {
				t.Fatalf("%v %s; want the end of its output within a second", err, raw)
			}
		})
	}
}

// A client that asks and asks and does not read: the server stops reading, and
// goes on when the client does.
func TestReaderThatStopsCostsNoMemory(t *testing.T) {
	t.Parallel()
	c := serve(t)
	const requests = 50_000
	padding := strings.Repeat("p", 850)
	var sent atomic.Int64
	done := make(chan error, 1)
	go func() {
		for i := range requests {
			if err := c.Send(client.ModernRequest(i, "tools/list", `{"padding":"`+padding+`"}`)); err != nil {
				done <- err
				return
			}
			sent.Add(1)
		}
		done <- nil
	}()
	for before := int64(-1); before != sent.Load(); time.Sleep(500 * time.Millisecond) {
		before = sent.Load()
	}
	t.Logf("the server took %d requests before it stopped reading", sent.Load())
	if sent.Load() == requests {
		t.Fatal("the server read everything")
	}
	wantFlatMemory(t, c)
	for i := range requests {
		raw, err := c.Recv(client.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":`, i); !bytes.HasPrefix(raw, want) {
			t.Fatalf("answer %d is %.200s", i, raw)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	inStep(t, c)
	wantFlatMemory(t, c)
}

// A server that nobody asks anything does not wake.
func TestIdleServerDoesNotWake(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, c *client.Client){
		"after the start": func(*testing.T, *client.Client) {},
		"after work": func(t *testing.T, c *client.Client) {
			tool(t, c, "gpio_write", `{"line":"GPIO17","level":1,"for_ms":50}`)
			tool(t, c, "i2c_scan", `{}`)
			call(t, c, "resources/read", `{"uri":"`+strings.Repeat("x", 1<<20)+`"}`)
			tool(t, c, "gpio_read", `{"lines":"GPIO17"}`)
		},
	} {
		for _, over := range []client.Transport{client.Pipes, client.Sockets} {
			t.Run(name+"/"+over.String(), func(t *testing.T) {
				t.Parallel()
				c := launch(t, over, exec.Command(exe, "--board", "sim"))
				before(t, c)
				time.Sleep(time.Second)
				first, err := c.Switches()
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				last, err := c.Switches()
				if err != nil {
					t.Fatal(err)
				}
				if n := last - first; n > 2 {
					t.Errorf("%d context switches in 2 seconds, want 0", n)
				}
			})
		}
	}
}
