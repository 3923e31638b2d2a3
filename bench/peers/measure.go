package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fastjson"
)

const (
	window   = 64          // calls in flight when pipelined
	large    = 1 << 20     // bytes of the large argument
	settle   = time.Second // from the last call to the idle measurement
	patience = time.Minute // for one round of one server
)

// measureAll runs every measurement, server after server in each round, and
// keeps the values in the servers.
func measureAll(servers []*server, e effort) error {
	all, one, err := cpuSets()
	if err != nil {
		return err
	}
	for _, s := range servers {
		info, err := os.Stat(s.argv[0])
		if err != nil {
			return err
		}
		s.add(pipe, "size", float64(info.Size())/(1<<20))
	}
	if err := inTurn(servers, e.starts, func(s *server) error { return s.measureStart() }); err != nil {
		return err
	}
	called := slices.DeleteFunc(slices.Clone(servers), func(s *server) bool { return s.startOnly })
	for _, t := range transports {
		if err := pin(one); err != nil {
			return err
		}
		if err := measureCalls(called, t, e); err != nil {
			return err
		}
		if err := pin(all); err != nil {
			return err
		}
		if err := measurePipelined(called, t, e); err != nil {
			return err
		}
	}
	return nil
}

func stopAll(servers []*server) {
	for _, s := range servers {
		s.stop()
	}
}

// inTurn does one thing with each server in each round, each round beginning
// with another server.
func inTurn(servers []*server, rounds int, do func(*server) error) error {
	for round := range rounds {
		for i := range servers {
			s := servers[(round+i)%len(servers)]
			stuck := time.AfterFunc(patience, func() {
				fmt.Fprintf(os.Stderr, "peers: %v has not answered what it was asked within %v; given up\n", s.argv, patience)
				os.Exit(1)
			})
			err := do(s)
			stuck.Stop()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// measureCalls measures what is measured one call at a time, on the core to
// which the caller has pinned this thread.
func measureCalls(servers []*server, t transport, e effort) error {
	err := inTurn(servers, 1, func(s *server) error { return s.open(t) })
	if err != nil {
		return err
	}
	defer stopAll(servers)
	if err := inTurn(servers, 1, func(s *server) error { return s.calls(e.warmup, nil) }); err != nil {
		return err
	}
	if err := inTurn(servers, e.rounds, func(s *server) error { return s.measureLatency(t, e.calls) }); err != nil {
		return err
	}
	if err := measureIdle(servers, t, e.idle); err != nil {
		return err
	}
	if t == pipe {
		rest := e.memory - e.warmup - e.rounds*e.calls
		if err := inTurn(servers, 1, func(s *server) error { return s.measureMemory(rest) }); err != nil {
			return err
		}
	}
	line := call(strings.Repeat("G", large))
	return inTurn(servers, e.large, func(s *server) error {
		before := time.Now()
		answer, err := s.ask(line.next(&s.id))
		if err != nil {
			return err
		}
		s.add(t, "arg1m", time.Since(before).Seconds()*1e3)
		if len(answer) > 64<<10 {
			return s.unexpected("a 1 MiB argument", answer)
		}
		return s.verify()
	})
}

// calls makes n calls, one at a time, and keeps how long each took in took,
// unless that is nil.
func (s *server) calls(n int, took []time.Duration) error {
	r := call("GPIO17")
	start := time.Now()
	var before time.Duration
	for i := range n {
		if _, err := s.ask(r.next(&s.id)); err != nil {
			return err
		}
		if took != nil {
			now := time.Since(start)
			took[i] = now - before
			before = now
		}
	}
	return s.verify()
}

func (s *server) measureLatency(t transport, n int) error {
	took := make([]time.Duration, n)
	before, err := runNs(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := s.calls(n, took); err != nil {
		return err
	}
	after, err := runNs(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	slices.Sort(took)
	s.add(t, "p50", float64(took[n/2])/1e3)
	s.add(t, "p99", float64(took[n*99/100])/1e3)
	s.add(t, "cpu", float64(after-before)/1e3/float64(n+1)) // verify makes one more
	return nil
}

// measureIdle counts the context switches of all servers while none is asked
// anything.
func measureIdle(servers []*server, t transport, d time.Duration) error {
	time.Sleep(settle)
	before := make([]int64, len(servers))
	for i, s := range servers {
		var err error
		if before[i], err = switches(s.cmd.Process.Pid); err != nil {
			return err
		}
	}
	time.Sleep(d)
	for i, s := range servers {
		after, err := switches(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		s.add(t, "idle_wakeups", float64(after-before[i]))
	}
	return nil
}

func (s *server) measureMemory(calls int) error {
	if err := s.calls(calls, nil); err != nil {
		return err
	}
	kib, err := peakKiB(s.cmd.Process.Pid)
	s.add(pipe, "rss", float64(kib)/1024)
	return err
}

// measurePipelined keeps the upper quartile of many short bursts: the rate
// swings with where the scheduler puts client and server, alike for all.
func measurePipelined(servers []*server, t transport, e effort) error {
	err := inTurn(servers, 1, func(s *server) error { return s.open(t) })
	if err != nil {
		return err
	}
	defer stopAll(servers)
	// The first round is the warm-up.
	if err := inTurn(servers, 1, func(s *server) error { _, err := s.pipelined(e.pipelined); return err }); err != nil {
		return err
	}
	bursts := map[*server][]float64{}
	if err := inTurn(servers, e.bursts, func(s *server) error {
		perSecond, err := s.pipelined(e.pipelined)
		bursts[s] = append(bursts[s], perSecond)
		return err
	}); err != nil {
		return err
	}
	for s, rates := range bursts {
		slices.Sort(rates)
		s.add(t, "pipelined", rates[len(rates)*3/4])
	}
	return nil
}

// pipelined keeps a window of calls in flight for d, and returns calls per
// second. For the answers of one read the client first sends as many calls
// more, by one write, and then parses the answers while the server works.
func (s *server) pipelined(d time.Duration) (float64, error) {
	r := call("GPIO17")
	lines := bytes.Repeat(r, window)
	var ids, answered int64 // the sums of the ids sent and answered
	send := func(n int) error {
		for i := range n {
			request(lines[i*len(r):]).next(&s.id)
			ids += int64(firstID + s.id)
		}
		return s.write(lines[:n*len(r)])
	}
	start := time.Now()
	if err := send(window); err != nil {
		return 0, err
	}
	var parser fastjson.Parser
	var text []byte // what was read and not yet parsed
	calls := 0
	for waiting := window; waiting > 0; {
		b, err := s.read()
		if err != nil {
			return 0, err
		}
		n := bytes.Count(b, []byte("\n"))
		calls += n
		waiting -= n
		if time.Since(start) < d {
			if err := send(n); err != nil {
				return 0, err
			}
			waiting += n
		}
		text = append(text, b...)
		rest := text
		for ; n > 0; n-- {
			line, after, _ := bytes.Cut(rest, []byte("\n"))
			rest = after
			v, err := parser.ParseBytes(line)
			if err != nil || !v.Exists("result") {
				return 0, s.unexpected("tools/call", line)
			}
			answered += v.GetInt64("id")
		}
		text = append(text[:0], rest...)
	}
	perSecond := float64(calls) / time.Since(start).Seconds()
	if answered != ids && !s.canned {
		return 0, fmt.Errorf("%v: the ids of %d answers are not those of the calls", s.argv, calls)
	}
	return perSecond, s.verify()
}

// measureStart starts a process of its own and ends it.
func (s *server) measureStart() error {
	before := time.Now()
	if err := s.start(pipe); err != nil {
		return err
	}
	answer, err := s.ask(initialize)
	took := time.Since(before)
	if err == nil && !s.canned && !bytes.Contains(answer, []byte(`"serverInfo"`)) {
		err = s.unexpected("initialize", answer)
	}
	s.stop()
	s.add(pipe, "start", took.Seconds()*1e3)
	return err
}
