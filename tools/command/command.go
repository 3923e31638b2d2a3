// Package command is what the program does when it is started: it picks a board, its
// rules and a front, joins them and runs them to the end. It is the only package that
// sees both the protocol and the real hardware.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"boardhand/device"
	"boardhand/device/boardfile"
	"boardhand/device/linux"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/frame/stdio"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/audit"
	"boardhand/tools/cli"
	"boardhand/tools/own"
)

// version is that of the program.
var version string

// Run is the whole program of that version, with its arguments behind its name; it
// returns the exit status. It is to be called once.
func Run(of string, args []string, stdout, stderr io.Writer) int {
	version = of
	cmd := "serve"
	if len(args) > 0 && (len(args[0]) == 0 || args[0][0] != '-') {
		cmd, args = args[0], args[1:]
	}
	if code, ok := overHTTP(cmd, args, stdout, stderr); ok {
		return code
	}
	switch cmd {
	case "version":
		return cli.Version(version, stdout, stderr)
	case "help":
		return cli.Help(word(args), stdout, stderr)
	case "serve", "connect", "link", "call", "tools", "setup", "doctor", "check", "init", "safe", "audit":
	default:
		return cli.Help(cmd, stdout, stderr)
	}
	if cmd == "serve" && len(args) > 0 {
		switch args[0] {
		case "-h", "-help", "--help":
			return cli.Help("", stdout, stderr)
		case "--version", "-version":
			return cli.Version(version, stdout, stderr)
		}
	}
	f, err := cli.ParseFlags(cmd, args)
	switch {
	case err != nil:
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	case f.Help:
		return cli.Help(cmd, stdout, stderr)
	case cmd == "setup":
		exe, err := os.Executable()
		if err != nil {
			exe = "boardhand"
		}
		return cli.Setup(args, exe, stdout, stderr)
	case cmd == "doctor":
		return doctor(f, stdout, stderr)
	case cmd == "connect":
		return connect(f, stderr)
	case cmd == "link":
		return showLink(f, stdout, stderr)
	case cmd == "call" && f.Serial != "":
		return overCable(f, stderr, func(b *cli.Remote) int {
			return cli.Call(b, f.Args, f.JSON, stdio.IsTerminal(2), stdout, stderr)
		})
	case cmd == "tools" && f.Serial != "":
		return overCable(f, stderr, func(b *cli.Remote) int { return cli.Tools(b, f.Args, f.JSON, stdout, stderr) })
	case cmd == "check":
		return check(f, stdout, stderr)
	case cmd == "init":
		return initialise(f, stdout, stderr)
	case cmd == "safe":
		return safe(f, stdout, stderr)
	case cmd == "audit":
		return showAudit(f, stdout, stderr)
	}
	stop, watching := watchSignals()
	s, err := open(f, cmd != "tools", stderr)
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	<-watching
	if cmd == "serve" && f.Serial != "" {
		return serveSerial(f, s, stop, stderr)
	}
	s.closeOnSignal(stop, stderr)
	switch cmd {
	case "call":
		return s.call(f, stdout, stderr)
	case "tools":
		defer s.close(stderr)
		return cli.Tools(cli.Local(s.srv), f.Args, f.JSON, stdout, stderr)
	}
	return s.serve(stderr)
}

// doctor looks at this machine, or at the simulated board, of which all can be used.
func doctor(f cli.Flags, stdout, stderr io.Writer) int {
	var d device.Diagnosis
	err := error(nil)
	if f.Board != "sim" {
		d, err = linux.Examine()
	}
	switch {
	case err != nil && f.Board == "linux":
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	case err != nil || f.Board == "sim":
		d.Info = sim.Open(sim.Wiring{}).Info()
		d.Findings = []device.Finding{{Family: "board", Detail: "simulated: all of it can be used, and nothing is real"}}
	}
	return cli.Doctor(&d, f.JSON, stdio.IsTerminal(1), stdout, stderr)
}

// word is the first argument, or "".
func word(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// session is an open board with its tools.
type session struct {
	board device.Board
	info  device.Info
	guard *tools.Guard
	srv   *rpc.Server

	outputs *charge
	log     *audit.Log // nil: nothing is written down
	closing sync.Once
}

// open opens the board that the flags name, with its tools on a server. acts says
// that tools will be called, which is written down.
func open(f cli.Flags, acts bool, stderr io.Writer) (*session, error) {
	file, err := readConfig(f.Config)
	if err != nil {
		return nil, err
	}
	board, err := pick(f.Board, file.Sim)
	if err != nil {
		return nil, err
	}
	return openOn(board, file, f, acts, stderr)
}

// openOn is open for a board that is open, as its file has it.
func openOn(board device.Board, file *boardfile.File, f cli.Flags, acts bool, stderr io.Writer) (s *session, err error) {
	report := func(err error) { cli.Fail(stderr, cli.ExitFailed, err.Error()) }
	outputs := &charge{beneath: board, rules: file.Rules, tell: report}
	if file.Rules != nil {
		if outputs.board, err = policy.Wrap(board, file.Rules, report); err != nil {
			return nil, err
		}
		board = outputs.board
	}
	cat, guard := tools.Catalogue(board, version, report)
	if file.Rules != nil {
		for _, err := range own.Add(&cat, board, file.Rules, tools.Names) {
			report(err)
		}
	}
	limits, log, err := guardCalls(&cat, outputs.board, file.Rules, acts, report)
	if err != nil {
		return nil, err
	}
	limits.Message, limits.Values = f.MaxMessage, f.MaxValues
	srv := rpc.NewServer(cat, limits, func(entry string, value any, stack []byte) {
		outputs.safe()
		fmt.Fprintf(stderr, "boardhand: %s failed inside: %v\n%s", entry, value, stack)
	})
	return &session{board: board, info: board.Info(), guard: guard, srv: srv, outputs: outputs, log: log}, nil
}

// pick opens the board that --board names: with auto the real one, where this
// user can work with at least one interface of it.
func pick(name string, wiring sim.Wiring) (device.Board, error) {
	if name != "sim" {
		b, err := linux.Open()
		switch {
		case name == "linux" && err != nil:
			return nil, err
		case name == "linux" || err == nil && b.Usable():
			return b, nil
		}
	}
	if wiring.Trace != "" {
		trace, err := os.OpenFile(wiring.Trace, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("sim.trace: %w", err)
		}
		wiring.Tracer = trace
	}
	return sim.Open(wiring), nil
}

// close brings every output to its safe level, or to how it was.
func (s *session) close(stderr io.Writer) {
	s.closing.Do(func() {
		s.guard.Close()
		err := s.board.Close()
		if err = errors.Join(err, s.outputs.end(err)); err != nil {
			cli.Fail(stderr, cli.ExitFailed, "closing the board: "+err.Error())
		}
		if s.log != nil {
			if err := s.log.Close(); err != nil {
				cli.Fail(stderr, cli.ExitFailed, err.Error())
			}
		}
	})
}

// watchSignals begins to watch for the signals that end the process. That takes the
// runtime a thread and as long as all else at the start, so it is done beside it. A
// standard error that nobody reads any more ends nothing: by itself the runtime would
// end the process there and then (os/signal, "SIGPIPE"), with its outputs as they are.
func watchSignals() (stop <-chan os.Signal, watching <-chan struct{}) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	go func() {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		close(done)
	}()
	return signals, done
}

// closeOnSignal ends the process in good order when it is told to stop, or when
// the client that started it is gone, whatever the dispatcher is doing.
func (s *session) closeOnSignal(stop <-chan os.Signal, stderr io.Writer) {
	gone := stdio.ParentGone()
	go func() {
		select {
		case <-stop:
		case <-gone:
		}
		s.close(stderr)
		os.Exit(cli.ExitOK)
	}()
}

func (s *session) serve(stderr io.Writer) int {
	switch {
	case stdio.IsTerminal(0):
		cli.Greeting(stderr, s.info.Simulated, s.info.Model)
	case s.info.Simulated:
		s.warnSimulated(stderr)
	}
	// One processor more than one goroutine needs: with a single one the scheduler
	// takes it away at every read (frame/stdio), and timers wait for the reader.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))

	defer s.close(stderr) // where it fails inside
	s.outputs.begin(true)
	var conn *rpc.Conn
	stream := lifeline{
		Stream: stdio.Open(0, 1, func() bool { return conn.Idle() && s.guard.Active() == 0 && s.outputs.active() == 0 }),
		ended:  func() { s.outputs.halt("the client has ended the connection") },
	}
	conn = s.srv.NewConn(stream)
	if err := s.outputs.watch(func() bool { return answers(s.srv) }); err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	err := s.srv.ServeConn(conn, stream)
	conn.Close()
	s.close(stderr)
	if err != nil {
		return cli.Fail(stderr, cli.ExitFailed, "the client is gone: "+err.Error())
	}
	return cli.ExitOK
}

func (s *session) warnSimulated(stderr io.Writer) {
	_, _ = io.WriteString(stderr, "boardhand: this is a simulated board; nothing here is real\n")
}

// call runs one tool by hand. A pulse that it began runs to its end; any other
// level lasts no longer than the process, and says so.
func (s *session) call(f cli.Flags, stdout, stderr io.Writer) int {
	if s.info.Simulated {
		s.warnSimulated(stderr)
	}
	defer s.close(stderr) // where it fails inside
	s.outputs.begin(false)
	code := cli.Call(cli.Local(s.srv), f.Args, f.JSON, stdio.IsTerminal(2), stdout, stderr)
	for s.guard.Active() > 0 {
		time.Sleep(time.Millisecond)
	}
	if tool := word(f.Args); code == cli.ExitOK && (tool == "pwm_set" || tool == "led_set") {
		_, _ = io.WriteString(stderr, "boardhand: the output goes back to how it was, or to its safe state, for it lasts as long as the process; let a client serve\n")
	}
	if tool := word(f.Args); code == cli.ExitOK && (tool == "gpio_write" || tool == "gpio_configure") && s.board.GPIO() != nil {
		lines, _ := s.board.GPIO().Lines(nil)
		for _, l := range lines {
			if l.Held && !s.outputs.rests(l.Name) {
				_, _ = io.WriteString(stderr, "boardhand: line "+l.Name+" goes back to how it was, or to its safe level, for a level lasts as long as the process; use for_ms=, or let a client serve\n")
			}
		}
	}
	s.close(stderr)
	return code
}
