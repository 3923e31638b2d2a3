//go:build linux

// Command overhttp measures boardhand's HTTP front against the HTTP server of the
// official Go SDK, and against net/http with an answer that is canned, which is the
// floor of both, in one run and with one client: calls a second on one connection and
// on 64, processor time a call, and memory, after the calls and with 1,000 connections
// open. The budgets are those of ../budgets.txt whose names begin with "http.".
//
//	go run ./overhttp -boardhand ../../boardhand
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	exe := flag.String("boardhand", "../../boardhand", "the boardhand `binary`")
	span := flag.Duration("span", 3*time.Second, "how long each measurement takes")
	rounds := flag.Int("rounds", 3, "how often each is made; the medians count")
	canned := flag.Bool("canned", false, "be the server that gives a canned answer")
	soak := flag.Int("soak", 0, "instead, make `n` calls of boardhand in each era, and fail when its memory grows")
	budgets := flag.String("check", "", "fail when a budget of this `file` is exceeded")
	flag.Parse()
	err := error(nil)
	if *canned {
		err = serveCanned()
	} else if *soak > 0 {
		err = endure(*exe, *soak)
	} else {
		err = run(*exe, *span, *rounds, *budgets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "overhttp:", err)
		os.Exit(1)
	}
}

// protocols are the two eras: how a call looks, and whether it wants a session.
var protocols = []struct {
	name, headers, body string
	session             bool
}{
	{name: "2026-07-28", headers: "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: gpio_read\r\n",
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO17"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}}}`},
	{name: "2025-11-25", headers: "MCP-Protocol-Version: 2025-11-25\r\n", session: true,
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO17"]}}}`},
}

// figures are what was measured of a server.
type figures map[string]float64

func run(exe string, span time.Duration, rounds int, budgets string) error {
	work, err := os.MkdirTemp("", "overhttp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sdk := filepath.Join(work, "gosdk")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", sdk, "./gosdk").CombinedOutput(); err != nil {
		return fmt.Errorf("building gosdk: %w\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := map[string][]string{
		"canned":    {self, "-canned"},
		"boardhand": {exe, "serve", "--board", "sim", "--http", "127.0.0.1:0"},
		"gosdk":     {sdk, "-http", "127.0.0.1:0"},
	}
	seen := map[string][]figures{}
	for range rounds {
		for _, name := range []string{"boardhand", "gosdk", "canned"} {
			f, err := measure(servers[name], span)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			seen[name] = append(seen[name], f)
		}
	}
	own, other, floor := medians(seen["boardhand"]), medians(seen["gosdk"]), medians(seen["canned"])
	ratios := figures{}
	fmt.Printf("%-36s %12s %12s %12s %18s %18s\n", "", "boardhand", "go-sdk", "canned", "boardhand/go-sdk", "boardhand/canned")
	for _, name := range sorted(own) {
		ratios["http."+name+"_ratio_gosdk"] = own[name] / other[name]
		ratios["http."+name+"_ratio_canned"] = own[name] / floor[name]
		ratios["http."+name] = own[name]
		fmt.Printf("%-36s %12.1f %12.1f %12.1f %18.2f %18.2f\n", name, own[name], other[name], floor[name], own[name]/other[name], own[name]/floor[name])
	}
	if budgets == "" {
		return nil
	}
	return check(budgets, ratios)
}

// serveCanned is a server that reads requests and parses nothing, with the settings of
// boardhand's: what net/http takes.
func serveCanned() error {
	runtime.MemProfileRate = 0
	debug.SetGCPercent(50)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "serving at http://%s/mcp\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Mcp-Session-Id"] = []string{"canned"}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"lines\":[{\"name\":\"GPIO17\",\"level\":0}]}"}]}}`)
	}))
}

// start starts a server and gives its address.
func start(argv []string) (cmd *exec.Cmd, addr string, err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for lines := bufio.NewReader(out); addr == ""; {
		line, err := lines.ReadString('\n')
		if err != nil {
			stop(cmd)
			return nil, "", fmt.Errorf("it did not start: %w", err)
		}
		if _, url, ok := strings.Cut(line, "http://"); ok {
			addr, _, _ = strings.Cut(url, "/")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return cmd, addr, nil
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// mayGrow is how much more memory of its own a server may have after a long time of
// calls than after a tenth of it, in KiB: what is garbage at the moment differs.
const mayGrow = 2048

// endure makes n calls in each era on 64 connections.
func endure(exe string, n int) error {
	cmd, addr, err := start([]string{exe, "serve", "--board", "sim", "--http", "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer stop(cmd)
	for _, p := range protocols {
		var own [2]float64
		for i, part := range []int{n / 10, n - n/10} {
			for made := int64(0); made < int64(part); {
				more, _, err := load(addr, cmd.Process.Pid, 64, 2*time.Second, p.headers, p.body, p.session)
				if err != nil {
					return err
				}
				made += more
			}
			if own[i], err = status(cmd.Process.Pid, "RssAnon:"); err != nil {
				return err
			}
		}
		fmt.Printf("%s: %.0f KiB of its own after %d calls, %.0f after %d\n", p.name, own[0], n/10, own[1], n)
		if own[1] > own[0]+mayGrow {
			return fmt.Errorf("at %s it grew by %.0f KiB", p.name, own[1]-own[0])
		}
	}
	return nil
}

// rest is how long a server has had nothing to do when its memory at rest is looked at.
const rest = 4 * time.Second

// measure starts a server and works it.
func measure(argv []string, span time.Duration) (figures, error) {
	cmd, addr, err := start(argv)
	if err != nil {
		return nil, err
	}
	defer stop(cmd)
	pid := cmd.Process.Pid
	f := figures{}
	for _, p := range protocols {
		for _, conns := range []int{1, 64} {
			n, cpu, err := load(addr, pid, conns, span, p.headers, p.body, p.session)
			if err != nil {
				return nil, fmt.Errorf("%s on %d connections: %w", p.name, conns, err)
			}
			key := fmt.Sprintf(".%s.%d", p.name, conns)
			f["calls_per_s"+key] = float64(n) / span.Seconds()
			f["cpu_us_per_call"+key] = cpu.Seconds() * 1e6 / float64(n)
		}
	}
	if err := remember(f, pid, "memory.after_calls"); err != nil {
		return nil, err
	}
	time.Sleep(rest)
	if err := remember(f, pid, "memory.at_rest"); err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name string
		era  int
	}{{"memory.1000_connections", 0}, {"memory.1000_sessions", 1}} {
		idle, err := hold(addr, 1000, m.era)
		if err == nil {
			err = remember(f, pid, m.name)
		}
		if err == nil {
			time.Sleep(rest)
			err = remember(f, pid, m.name+"_at_rest")
		}
		for _, c := range idle {
			_ = c.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// remember notes the memory that a process has of its own, without the pages of its
// binary, and with them.
func remember(f figures, pid int, name string) (err error) {
	if f[name+"_own_kib"], err = status(pid, "RssAnon:"); err == nil {
		f[name+"_all_kib"], err = status(pid, "VmRSS:")
	}
	return err
}

// client is one connection.
type client struct {
	net.Conn
	in      *bufio.Reader
	request []byte
	leave   []byte // ends its session; nil: it has none
}

// close ends the session and the connection.
func (c *client) close() {
	if c.leave != nil {
		c.request = c.leave
		_, _ = c.call()
	}
	_ = c.Close()
}

func dial(addr, headers, body string, session bool) (*client, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	cl := &client{Conn: c, in: bufio.NewReaderSize(c, 16<<10)}
	if session {
		cl.request = render(addr, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
		id, err := cl.call()
		if err != nil {
			return nil, err
		}
		headers += "Mcp-Session-Id: " + id + "\r\n"
		cl.leave = fmt.Appendf(nil, "DELETE /mcp HTTP/1.1\r\nHost: %s\r\nMcp-Session-Id: %s\r\n\r\n", addr, id)
		cl.request = render(addr, headers, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if _, err := cl.call(); err != nil {
			return nil, err
		}
	}
	cl.request = render(addr, headers, body)
	return cl, nil
}

func render(addr, headers, body string) []byte {
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", addr, headers, len(body), body)
}

// call sends the request and reads the response; it gives the session that this names.
func (c *client) call() (session string, err error) {
	if _, err := c.Write(c.request); err != nil {
		return "", err
	}
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 2")) {
			return "", errors.New(string(line))
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, _ = strconv.Atoi(string(value))
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case bytes.EqualFold(name, []byte("Mcp-Session-Id")):
			session = string(value)
		}
	}
	if !chunked {
		_, err := c.in.Discard(length)
		return session, err
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return "", err
		}
		if _, err := c.in.Discard(int(n) + 2); err != nil || n == 0 {
			return session, err
		}
	}
}

// load calls on so many connections, each as soon as it has its answer, and counts.
func load(addr string, pid, conns int, span time.Duration, headers, body string, session bool) (n int64, cpu time.Duration, err error) {
	clients := make([]*client, conns)
	for i := range clients {
		if clients[i], err = dial(addr, headers, body, session); err != nil {
			return 0, 0, err
		}
		defer clients[i].close()
		for range 20 { // what is warm counts
			if _, err := clients[i].call(); err != nil {
				return 0, 0, err
			}
		}
	}
	before, err := processor(pid)
	if err != nil {
		return 0, 0, err
	}
	var count atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, conns)
	end := time.Now().Add(span)
	for _, c := range clients {
		all.Go(func() {
			for i := 0; ; i++ {
				if i%16 == 0 && time.Now().After(end) {
					return
				}
				if _, err := c.call(); err != nil {
					failed <- err
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	after, err := processor(pid)
	if len(failed) > 0 {
		err = <-failed
	}
	return count.Load(), after - before, err
}

// hold opens connections, each with a call behind it.
func hold(addr string, n, era int) (idle []net.Conn, err error) {
	p := protocols[era]
	for range n {
		c, err := dial(addr, p.headers, p.body, p.session)
		if err == nil {
			_, err = c.call()
		}
		if err != nil {
			return idle, err
		}
		idle = append(idle, c)
	}
	return idle, nil
}

// processor is the time that a process has used, user and system (proc(5), stat).
func processor(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, nil // USER_HZ is 100
}

// status is a figure of proc(5), status, in KiB.
func status(pid int, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == name {
			return strconv.ParseFloat(fields[1], 64)
		}
	}
	return 0, errors.New("no " + name)
}

func medians(all []figures) figures {
	m := figures{}
	for name := range all[0] {
		var values []float64
		for _, f := range all {
			values = append(values, f[name])
		}
		slices.Sort(values)
		m[name] = values[len(values)/2]
	}
	return m
}

func sorted(f figures) []string {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check says which budgets are exceeded.
func check(file string, seen figures) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var exceeded []error
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) != 3 || !strings.HasPrefix(fields[0], "http.") {
			continue
		}
		bound, err := strconv.ParseFloat(fields[2], 64)
		value, ok := seen[fields[0]]
		switch {
		case err != nil || !ok:
			exceeded = append(exceeded, fmt.Errorf("%s has a budget that cannot be read, or was not measured", fields[0]))
		case fields[1] == "max" && value > bound, fields[1] == "min" && value < bound:
			exceeded = append(exceeded, fmt.Errorf("%s is %.4g, its budget %s %g", fields[0], value, fields[1], bound))
		}
	}
	return errors.Join(exceeded...)
}
