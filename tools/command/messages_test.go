//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"boardhand/bench/client"
	"boardhand/frame"
)

// Requests that were piped in at once are all answered before the server ends,
// also where a tool is slow and the last line lacks its end.
func TestPipedRequestsAreAllAnsweredBeforeExit(t *testing.T) {
	t.Parallel()
	requests := []string{
		client.ModernRequest(1, "server/discover", ""),
		client.ModernRequest(2, "tools/call", client.CallTool("i2c_scan", `{"bus":1}`)),
		client.ModernRequest(3, "tools/list", ""),
		client.ModernRequest(4, "tools/call", client.CallTool("gpio_read", `{"lines":["GPIO17"]}`)),
		client.ModernRequest(5, "tools/call", client.CallTool("i2c_read", `{"address":"0x76","register":"0xd0"}`)),
		client.ModernRequest(6, "resources/read", `{"uri":"board://info"}`),
		client.ModernRequest(7, "tools/call", client.CallTool("sensor_read", `{"sensor":"cpu-thermal"}`)),
		client.ModernRequest(8, "tools/call", client.CallTool("i2c_scan", `{"bus":1}`)),
	}
	for name, flags := range map[string][]string{
		"fast": nil,
		"slow": {"--config", wiredAs(t, "[[sim.slow]]\nbus = 1\nms = 0.5\n")},
	} {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				for range 20 {
					c := serve(t, flags...)
					c.Mode = mode
					if mode == frame.Newline {
						if _, err := io.WriteString(c.In, strings.Join(requests, "\n")); err != nil {
							t.Fatal(err)
						}
					} else {
						send(t, c, requests...)
					}
					got := drain(t, c)
					for _, m := range got {
						if m.Error != nil {
							t.Fatalf("an error: %s", m.Raw)
						}
					}
					answered := ids(got)
					slices.Sort(answered)
					if want := []string{"1", "2", "3", "4", "5", "6", "7", "8"}; !slices.Equal(answered, want) {
						t.Fatalf("answers to %q, want %q", answered, want)
					}
				}
			})
		}
	}
}

// notJSON are lines that cost a parse error each and nothing else.
var notJSON = map[string]string{
	"noise":              "hello",
	"byte order mark":    "\xef\xbb\xbf" + client.ModernRequest(1, "server/discover", ""),
	"mark alone":         "\xef\xbb\xbf",
	"cut off":            client.ModernRequest(1, "server/discover", "")[:60],
	"two on a line":      client.Request(1, "ping", "") + client.Request(2, "ping", ""),
	"broken UTF-8":       `{"jsonrpc":"2.0","id":1,"method":"` + "\xc3\x28" + `"}`,
	"control characters": "\x00\x1b[2J\x07",
	"single quotes":      `{'jsonrpc':'2.0','id':1,'method':'ping'}`,
	"trailing comma":     `{"jsonrpc":"2.0","id":1,"method":"ping",}`,
	"NaN":                `{"jsonrpc":"2.0","id":NaN,"method":"ping"}`,
}

func TestMalformedMessageIsAnsweredWithAParseErrorAndNoID(t *testing.T) {
	for name, text := range notJSON {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				c := serve(t)
				c.Mode = mode
				for range 2 { // as the first message, and as a later one
					send(t, c, text)
					m := recv(t, c)
					if m.Error == nil || m.Error.Code != -32700 || m.ID != nil {
						t.Fatalf("answer %s, want error -32700 without an id", m.Raw)
					}
					inStep(t, c)
				}
			})
		}
	}
}

func TestNestingBombIsRefused(t *testing.T) {
	t.Parallel()
	c := serve(t)
	send(t, c, strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<19))
	for range 2 {
		if m := recv(t, c); m.Error == nil || m.ID != nil {
			t.Fatalf("answer %s, want an error without an id", m.Raw)
		}
	}
	inStep(t, c)
	wantFlatMemory(t, c)
}

func TestMetaIsChecked(t *testing.T) {
	t.Parallel()
	c := serve(t)
	const version, capabilities = `"io.modelcontextprotocol/protocolVersion":`, `"io.modelcontextprotocol/clientCapabilities":`
	tests := []struct {
		name, meta string
		code       int
		requested  string
	}{
		{"an old version", version + `"1900-01-01",` + capabilities + `{}`, -32022, "1900-01-01"},
		{"a version to come", version + `"2027-01-01",` + capabilities + `{}`, -32022, "2027-01-01"},
		{"a version without _meta of its own", version + `"2025-11-25",` + capabilities + `{}`, -32022, "2025-11-25"},
		{"no capabilities", version + `"2026-07-28"`, -32602, ""},
		{"no version", capabilities + `{}`, -32602, ""},
		{"capabilities of a wrong type", version + `"2026-07-28",` + capabilities + `[]`, -32602, ""},
		{"a version of a wrong type", version + `20260728,` + capabilities + `{}`, -32602, ""},
		{"the version twice", version + `"1900-01-01",` + version + `"2026-07-28",` + capabilities + `{}`, -32602, ""},
	}
	for i, test := range tests {
		for _, method := range []string{"server/discover", "tools/list", "tools/call"} {
			send(t, c, client.Request(i, method, `{"_meta":{`+test.meta+`},"name":"board_info"}`))
			m := recv(t, c)
			if m.Error == nil || m.Error.Code != test.code || string(m.ID) != strconv.Itoa(i) {
				t.Errorf("%s, %s: %s, want code %d", test.name, method, m.Raw, test.code)
				continue
			}
			if test.requested == "" {
				continue
			}
			var data struct {
				Supported []string
				Requested string
			}
			if err := json.Unmarshal(m.Error.Data, &data); err != nil {
				t.Errorf("%s: data %s: %v", test.name, m.Error.Data, err)
			}
			if data.Requested != test.requested || !slices.Contains(data.Supported, "2026-07-28") {
				t.Errorf("%s: data %s", test.name, m.Error.Data)
			}
		}
	}
	inStep(t, c)
}

func TestAnyFirstMessageThenInitialize(t *testing.T) {
	first := map[string]struct {
		text  string
		mode  frame.Mode
		code  int // of the error that answers it; 0: a result
		quiet bool
	}{
		"discover":                             {text: client.ModernRequest(90, "server/discover", "")},
		"discover without _meta":               {text: client.Request(90, "server/discover", ""), code: -32602},
		"list with _meta":                      {text: client.ModernRequest(90, "tools/list", "")},
		"list without _meta":                   {text: client.Request(90, "tools/list", ""), code: -32602},
		"call without _meta":                   {text: client.Request(90, "tools/call", client.CallTool("board_info", "")), code: -32602},
		"ping":                                 {text: client.Request(90, "ping", "")},
		"initialize":                           {text: client.Request(90, "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)},
		"initialize of the Content-Length MCP": {text: client.Request(90, "initialize", `{"clientCapabilities":{}}`)},
		"initialize without anything":          {text: client.Request(90, "initialize", ""), code: -32602},
		"mcp/ method":                          {text: client.Request(90, "mcp/listTools", ""), code: -32600},
		"notification":                         {text: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, quiet: true},
		"unknown notification":                 {text: `{"jsonrpc":"2.0","method":"hello"}`, quiet: true},
		"cancellation of nothing":              {text: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, quiet: true},
		"an answer":                            {text: `{"jsonrpc":"2.0","id":4,"result":{}}`, quiet: true},
		"noise":                                {text: "~\x7f\xffrandom", code: -32700},
		"batch":                                {text: "[" + client.Request(90, "ping", "") + "]", code: -32600},
		"number":                               {text: "42", code: -32600},
		"empty lines":                          {text: "\n\r\n\n", quiet: true},
	}
	for name, test := range first {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			if name == "empty lines" && mode == frame.Header {
				continue // a body of white space is a message, and no JSON
			}
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				c := serve(t)
				c.Mode = mode
				send(t, c, test.text)
				if !test.quiet {
					switch m := recv(t, c); {
					case test.code == 0 && m.Error != nil:
						t.Fatalf("answer %s, want a result", m.Raw)
					case test.code != 0 && (m.Error == nil || m.Error.Code != test.code):
						t.Fatalf("answer %s, want code %d", m.Raw, test.code)
					}
				}
				m, err := c.Initialize("2025-06-18")
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(m.Result), `"protocolVersion":"2025-06-18"`) {
					t.Errorf("initialize gave %s", m.Raw)
				}
				if m, _, err := c.Ask("tools/list", ""); err != nil || m.Error != nil {
					t.Errorf("tools/list: %v %v", err, m)
				}
				inStep(t, c)
			})
		}
	}
}

// A tool's result stays under 8 KB by design, so what is long and comes back is
// the URI of a resource that does not exist.
func TestMegabyteGoesInAndComesOut(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<16)
	for _, over := range []client.Transport{client.Pipes, client.Sockets} {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			t.Run(over.String()+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				c := launch(t, over, exec.Command(exe, "--board", "sim"))
				c.Mode = mode
				for range 3 {
					r, err := call(t, c, "tools/call", client.CallTool("gpio_read", `{"lines":["`+long+`"]}`)).Tool()
					if err != nil {
						t.Fatal(err)
					}
					if !r.IsError || !strings.Contains(r.Text(), `"lines"`) || len(r.Text()) > 1000 {
						t.Errorf("gpio_read of a line with a name of 1 MiB: %.300s", r.Text())
					}
					for _, uri := range []string{long, "gpio://" + long} {
						m := call(t, c, "resources/read", `{"uri":"`+uri+`"}`)
						if m.Error == nil || m.Error.Code != -32602 {
							t.Fatalf("answer %.300s, want code -32602", m.Raw)
						}
						if got := string(m.Error.Data); got != `{"uri":"`+uri+`"}` {
							t.Errorf("%d bytes of data, want the URI of %d", len(got), len(uri))
						}
					}
				}
				inStep(t, c)
			})
		}
	}
}

func TestMessageAboveTheLimitCostsOneErrorAndNoMemory(t *testing.T) {
	const gigabyte = 1 << 30
	tests := map[string]struct{ head, fill, tail string }{
		"a gigabyte without a line end":        {"", "x", "\n"},
		"a message of a gigabyte":              {`{"jsonrpc":"2.0","id":1,"method":"`, "a", "\"}\n"},
		"Content-Length 4000000000, no body":   {"Content-Length: 4000000000\r\n\r\n", "", ""},
		"Content-Length 4000000000, some body": {"Content-Length: 4000000000\r\n\r\n", "y", "\n"},
		"Content-Length above 64 bits":         {"Content-Length: 99999999999999999999\r\n\r\n", "", ""},
		"negative Content-Length":              {"Content-Length: -1\r\n\r\n", "", ""},
		"header block without end":             {"Content-Length: 2\r\nX: ", "z", "\n"},
	}
	chunk := make([]byte, 1<<20)
	for name, test := range tests {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			size := 8 << 20
			if strings.Contains(name, "gigabyte") {
				if mode == frame.Header {
					continue // once is enough of so many bytes
				}
				size = gigabyte
			}
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				c := serve(t)
				write := func(b []byte) {
					if _, err := c.In.Write(b); err != nil {
						t.Fatal(err)
					}
				}
				write([]byte(test.head))
				if test.fill != "" {
					fill := bytes.Repeat([]byte(test.fill), len(chunk))
					for range size / len(chunk) {
						write(fill)
					}
				}
				write([]byte(test.tail))
				// The error is in the framing of what it is about.
				c.Mode = frame.Newline
				if strings.HasPrefix(test.head, "Content") {
					c.Mode = frame.Header
				}
				m := recv(t, c)
				if m.Error == nil || m.Error.Code != -32700 || m.ID != nil {
					t.Fatalf("answer %.300s, want error -32700 without an id", m.Raw)
				}
				c.Mode = mode
				inStep(t, c) // and no second error
				wantFlatMemory(t, c)
			})
		}
	}
}

// Answers, progress and log messages of many calls that run at once, in batches
// too, which leave as one message far above what a pipe takes in one piece.
func TestEveryLineIsOneMessageWhileTheReaderIsSlow(t *testing.T) {
	t.Parallel()
	c := serve(t, "--config", wiredAs(t, "[[sim.slow]]\nbus = 1\nms = 1\n"))
	if _, err := c.Initialize("2025-03-26"); err != nil {
		t.Fatal(err)
	}
	const batches, lists, scans, reads = 8, 20, 8, 100
	longID := strings.Repeat("i", 1000)
	want := map[string]int{} // answers by the beginning of their id
	var requests []string
	id := 100
	next := func() int { id++; return id }
	for range batches {
		var b []string
		for range lists {
			b = append(b, client.Request(next(), "tools/call", client.CallTool("gpio_list", "")))
		}
		b = append(b, client.Request(next(), "tools/call", `{"name":"i2c_scan","_meta":{"progressToken":`+strconv.Itoa(id)+`}}`))
		requests = append(requests, "["+strings.Join(b, ",")+"]")
	}
	meta := strings.TrimSuffix(client.Modern, "}") + `,"io.modelcontextprotocol/logLevel":"debug","progressToken":"` + strings.Repeat("t", 1000) + `"}`
	for i := range reads {
		requests = append(requests, client.ModernRequest(next(), "tools/call", client.CallTool("gpio_list", "")))
		if i < scans {
			requests = append(requests, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s%d","method":"tools/call","params":{"name":"i2c_scan",%s}}`, longID, i, meta))
		}
	}
	sent := make(chan error, 1)
	go func() {
		err := c.Send(requests...)
		c.CloseInput()
		sent <- err
	}()

	var out bytes.Buffer
	buf := make([]byte, 3000)
	for {
		n, err := c.Out.Read(buf)
		out.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Microsecond)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	exits(t, c)

	longest := 0
	for line := range strings.Lines(out.String()) {
		longest = max(longest, len(line))
		if line[0] == '[' {
			var batch []json.RawMessage
			if err := json.Unmarshal([]byte(line), &batch); err != nil {
				t.Fatalf("%v: %.200q", err, line)
			}
			if len(batch) != lists+1 {
				t.Errorf("a batch of %d answers, want %d", len(batch), lists+1)
			}
			want["batch"]++
			continue
		}
		m, err := client.Parse([]byte(line))
		switch {
		case err != nil:
			t.Fatal(err)
		case m.Error != nil:
			t.Fatalf("an error: %.300s", line)
		case m.Method != "":
			want[m.Method]++
		case m.ID[0] == '"':
			want["scan"]++
		default:
			want["list"]++
		}
	}
	t.Logf("%d bytes, the longest line %d: %v", out.Len(), longest, want)
	if want["batch"] != batches || want["scan"] != scans || want["list"] != reads {
		t.Errorf("messages %v; want %d batches, %d scans, %d lists", want, batches, scans, reads)
	}
	if want["notifications/progress"] < batches+scans || want["notifications/message"] < scans {
		t.Errorf("messages %v; want progress and log messages of every scan", want)
	}
}

// With standard error closed, a message for people must not end up on standard
// output, nor in any other file.
func TestStandardOutputHoldsOnlyTheProtocol(t *testing.T) {
	broken := wiredAs(t, "[sim]\nsede = 1\n")
	tests := []struct {
		args   string
		status int
	}{
		{"nosuch", 2},
		{"help nosuch", 2},
		{"call", 2},
		{"call nosuch --board sim", 2},
		{"call gpio_read --board sim --nosuch", 2},
		{"call gpio_read lines=GPIO99 --board sim", 1},
		{"call gpio_read lines=GPIO99 --board sim --json", 1},
		{"call i2c_read address=0x68 --board sim", 1},
		{"tools nosuch --board sim", 2},
		{"tools --nosuch", 2},
		{"setup nosuch", 2},
		{"setup --nosuch", 2},
		{"serve nosuch", 2},
		{"serve --board moon", 2},
		{"serve --config /nonexistent/board.toml", 2},
		{"serve --config " + broken, 2},
	}
	for _, closed := range []string{"2>&-", "2>/dev/full"} {
		for _, test := range tests {
			t.Run(strings.ReplaceAll(test.args, " ", "_")+closed, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command("sh", append([]string{"-c", `exec "$0" "$@" ` + closed, exe}, strings.Fields(test.args)...)...)
				out, _ := cmd.Output()
				if len(out) > 0 {
					t.Errorf("standard output %q, want none", out)
				}
				if got := cmd.ProcessState.ExitCode(); got != test.status {
					t.Errorf("exit status %d, want %d", got, test.status)
				}
			})
		}
		t.Run("serve"+closed, func(t *testing.T) {
			t.Parallel()
			c := launch(t, client.Pipes, exec.Command("sh", "-c", `exec "$0" serve --board sim `+closed, exe))
			n := 0
			for _, text := range notJSON {
				send(t, c, text)
				n++
			}
			send(t, c, client.ModernRequest(1, "tools/call", client.CallTool("gpio_read", `{"lines":"GPIO99"}`)),
				client.ModernRequest(2, "tools/call", client.CallTool("i2c_scan", "")),
				client.ModernRequest(3, "nosuch", ""))
			if got := drain(t, c); len(got) != n+3 { // which has read them all as messages
				t.Errorf("%d messages, want %d", len(got), n+3)
			}
		})
	}
}

// Keys are exact, and one that decides anything may stand only once: the line is
// not written, whichever of the two would win elsewhere.
func TestKeysOfAnotherCaseAndTwiceWriteNoLine(t *testing.T) {
	const write = `{"line":"GPIO17","level":1}`
	request := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + client.Modern + `,` + params + `}}`
	}
	whole := func(members string) string { return `{"jsonrpc":"2.0","id":1,` + members + `}` }
	call := `"params":{` + client.Modern + `,"name":"gpio_write","arguments":` + write + `}`
	tests := map[string]string{
		"Name after name":        request(`"name":"gpio_read","Name":"gpio_write","arguments":` + write),
		"Name before name":       request(`"Name":"gpio_write","name":"gpio_read","arguments":` + write),
		"Name alone":             request(`"Name":"gpio_write","arguments":` + write),
		"name twice":             request(`"name":"gpio_read","name":"gpio_write","arguments":` + write),
		"name twice, the same":   request(`"name":"gpio_write","name":"gpio_write","arguments":` + write),
		"name twice, escaped":    request(`"name":"gpio_read","\u006eame":"gpio_write","arguments":` + write),
		"Arguments":              request(`"name":"gpio_write","Arguments":` + write),
		"arguments twice":        request(`"name":"gpio_write","arguments":{"line":"GPIO22","level":0},"arguments":` + write),
		"Level":                  request(`"name":"gpio_write","arguments":{"line":"GPIO17","Level":1}`),
		"Level beside level":     request(`"name":"gpio_write","arguments":{"line":"GPIO17","level":1,"Level":0}`),
		"level twice":            request(`"name":"gpio_write","arguments":{"line":"GPIO17","level":0,"level":1}`),
		"line twice":             request(`"name":"gpio_write","arguments":{"line":"GPIO17","line":"GPIO22","level":1}`),
		"line twice, escaped":    request(`"name":"gpio_write","arguments":{"line":"GPIO22","l\u0069ne":"GPIO17","level":1}`),
		"GPIO_write":             request(`"name":"GPIO_write","arguments":` + write),
		"gpio17":                 request(`"name":"gpio_write","arguments":{"line":"gpio17","level":1}`),
		"unknown argument":       request(`"name":"gpio_write","arguments":{"line":"GPIO17","level":1,"force":true}`),
		"Method after method":    whole(`"method":"tools/list","Method":"tools/call",` + call),
		"method twice":           whole(`"method":"tools/list","method":"tools/call",` + call),
		"Method alone":           whole(`"Method":"tools/call",` + call),
		"Params":                 whole(`"method":"tools/call","P` + call[2:]),
		"params twice":           whole(`"method":"tools/call","params":{` + client.Modern + `,"name":"board_info"},` + call),
		"id twice":               whole(`"id":2,"method":"tools/call",` + call),
		"jsonrpc twice":          whole(`"jsonrpc":"2.0","method":"tools/call",` + call),
		"JSONRPC":                `{"JSONRPC":"2.0","id":1,"method":"tools/call",` + call + `}`,
		"_meta twice":            request(client.Modern + `,"name":"gpio_write","arguments":` + write),
		"without id, not a call": `{"jsonrpc":"2.0","method":"tools/call",` + call + `}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			send(t, c, text)
			if name != "without id, not a call" {
				m := recv(t, c)
				if r, err := m.Tool(); strings.Contains(name, "twice") && err == nil && !r.IsError {
					t.Errorf("it is no error: %s", m.Raw)
				}
			}
			for _, line := range []string{"GPIO17", "GPIO22"} {
				if got := tool(t, c, "gpio_list", `{"match":"`+line+`"}`); !strings.Contains(got, `"direction":"in"`) || strings.Contains(got, "held") {
					t.Errorf("the line was written: %s", got)
				}
			}
			if got := tool(t, c, "gpio_read", `{"lines":["GPIO17","GPIO27"]}`); strings.Contains(got, `"level":1`) {
				t.Errorf("the line was written: %s", got)
			}
			// The same without a fault is seen.
			tool(t, c, "gpio_write", write)
			if got := tool(t, c, "gpio_read", `{"lines":["GPIO17","GPIO27"]}`); strings.Contains(got, `"level":0`) {
				t.Errorf("the line was not written: %s", got)
			}
		})
	}
}

// What a serial console says before, between and in the middle of messages.
func TestBootNoiseIsSkipped(t *testing.T) {
	noise := []string{
		"\r\n\r\nU-Boot 2024.01 (Jan 08 2024 - 15:37:48 +0000)\r\n\r\nDRAM:  512 MiB\r\nCore:  66 devices, 14 uclasses\r\n",
		"Hit any key to stop autoboot:  2 \b\b\b 1 \b\b\b 0 \r\n",
		"[    0.000000] Booting Linux on physical CPU 0x0\r\n[    0.000000] Linux version 6.6.31 (gcc 12.2.0)\r\n",
		"[    1.234567] usb 1-1: new high-speed USB device number 2\r\n",
		"Debian GNU/Linux 12 pi ttyS0\r\n\r\npi login: \r\nPassword: \r\nLogin incorrect\r\n",
		"\x00\xff\xfe\x80\x00garbage\x00\n",
		"\x1b[0;32m  OK  \x1b[0m Started \x1b[0;1;39mGetty\x1b[0m on ttyS0.\r\n",
		"Content-Type: no header at all\n[  OK  ] Reached target.\n",
		"Kernel: panic - not syncing\r\n",
	}
	for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			framed := func(text string) string {
				if mode == frame.Newline {
					return text + "\n"
				}
				return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)
			}
			write := func(text string) {
				if _, err := io.WriteString(c.In, text); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			id := 0
			good := func() {
				id++
				want = append(want, strconv.Itoa(id))
				write(framed(client.ModernRequest(id, "server/discover", "")))
			}
			for _, n := range noise {
				write(n)
				good()
				good()
				// In the middle of a message, which is lost.
				broken := framed(client.ModernRequest(1000+id, "tools/list", ""))
				write(broken[:len(broken)/2] + n + broken[len(broken)/2:])
				write("\r\n")
				if mode == frame.Header {
					// The noise was read as a part of the body, whose own end is noise now.
					write("{}\n")
				}
				good()
			}
			if err := c.CloseInput(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for {
				raw, err := c.Recv(client.Timeout)
				if err == io.EOF {
					break
				}
				if raw == nil && err != nil {
					t.Fatal(err)
				}
				m, err := client.Parse(raw) // whichever framing a complaint about noise has
				if err != nil {
					t.Fatal(err)
				}
				if m.Error == nil {
					got = append(got, string(m.ID))
				} else if m.ID != nil && len(m.ID) < 4 {
					t.Errorf("a good message was refused: %s", m.Raw)
				}
			}
			exits(t, c)
			if !slices.Equal(got, want) {
				t.Errorf("answers to %q, want %q", got, want)
			}
		})
	}
}
