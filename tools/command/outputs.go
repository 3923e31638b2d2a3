package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
	"boardhand/device/linux"
	"boardhand/device/policy"
	"boardhand/device/policy/journal"
	"boardhand/frame/stdio"
	"boardhand/rpc"
	"boardhand/tools/cli"
)

// charge is this process's charge of the outputs of its board.
type charge struct {
	beneath device.Board  // without rules
	board   *policy.Board // nil: there are no rules
	rules   *policy.Rules
	tell    func(error)

	mu       sync.Mutex
	journal  *journal.Journal
	watchdog *linux.Watchdog
	ended    bool
}

// A person halts the outputs of a process for as long as it lives.
var (
	inCharge atomic.Pointer[charge] // whom to ask
	byHand   atomic.Bool            // it was asked
)

const whyByHand = `halted by a person with "boardhand safe"`

// begin brings the outputs to rest of processes that were killed, or ended with the
// power, and takes charge of those that the rules name: whoever finds this process gone
// brings them to rest. A server brings them to their initial levels.
func (c *charge) begin(serving bool) {
	folder, kind, err := place(c.beneath, c.rules)
	if err == nil && folder != "" {
		c.recover(folder, kind)
	}
	if c.board == nil {
		return
	}
	if outputs := c.board.AtRest(); len(outputs) > 0 {
		if err == nil && folder != "" {
			err = c.write(folder, kind, outputs)
		}
		if err != nil {
			c.tell(fmt.Errorf("%w; after a kill nobody knows what to bring to rest", err))
		}
	}
	if byHand.Load() {
		c.halt(whyByHand)
	}
	if serving {
		each(c.board.Begin(), c.tell)
	}
}

// write writes the journal of these outputs.
func (c *charge) write(folder, kind string, outputs []policy.AtRest) (err error) {
	haltOnSignal()
	lines := make([]string, len(outputs))
	for i := range outputs {
		lines[i] = outputs[i].String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended { // a signal has come meanwhile
		return nil
	}
	inCharge.Store(c)
	c.journal, err = journal.Open(folder, kind, lines)
	return err
}

// place is where the journals of a board are: the folder, and what it calls the board.
// A simulated board is gone with its process, and has journals only where the file says so.
func place(board device.Board, rules *policy.Rules) (folder, kind string, err error) {
	kind = "linux"
	if board.Info().Simulated {
		kind = "sim"
	}
	switch {
	case rules != nil && rules.Outputs.State != "":
		return rules.Outputs.State, kind, nil
	case kind == "sim":
		return "", kind, nil
	}
	folder, err = journal.Folder()
	return folder, kind, err
}

// recover brings to rest what a process was in charge of that has not done so itself.
func (c *charge) recover(folder, kind string) {
	found, err := journal.Look(folder, kind)
	each(err, c.tell)
	for _, f := range found {
		if f.Alive {
			continue
		}
		err := rest(c.beneath, f.Outputs)
		if err == nil {
			c.tell(fmt.Errorf("process %d (%s) ended without bringing its outputs to rest; they are now", f.PID, f.Command))
		} else {
			c.tell(fmt.Errorf("process %d (%s) ended without bringing its outputs to rest, and they are not yet: %w", f.PID, f.Command, err))
		}
		each(f.Close(err == nil), c.tell)
	}
}

// rest brings outputs to rest, as a journal has them.
func rest(beneath device.Board, outputs []string) error {
	var errs []error
	for _, text := range outputs {
		a, err := policy.ParseAtRest(text)
		if err == nil {
			err = a.Apply(beneath)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// each tells the errors that were joined, one by one.
func each(err error, tell func(error)) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			each(e, tell)
		}
	} else if err != nil {
		tell(err)
	}
}

// haltOnSignal halts the outputs when "boardhand safe" asks for it, from now on.
var haltOnSignal = sync.OnceFunc(func() {
	asked := journal.Asked()
	if len(asked) == 0 {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, asked...)
	go func() {
		for range signals {
			byHand.Store(true)
			if c := inCharge.Load(); c != nil {
				c.haltByHand()
			}
		}
	}()
})

// haltByHand halts the outputs as a person asked, and writes that it has.
func (c *charge) haltByHand() {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended { // the next one begins halted
		return
	}
	err := c.board.Halt(whyByHand)
	c.mu.Lock()
	if c.journal != nil && !c.ended {
		err = errors.Join(err, c.journal.Halted(err))
	}
	c.mu.Unlock()
	each(err, c.tell)
	c.tell(errors.New(`the outputs are halted, as "boardhand safe" asked`))
}

// halt is for when the client is gone: no output leaves its safe level any more.
func (c *charge) halt(why string) {
	if c.board != nil {
		each(c.board.Halt(why), c.tell)
	}
}

// pause is for when the client is not heard: no output leaves its safe level until resume.
func (c *charge) pause(why string) {
	if c.board != nil && len(c.board.AtRest()) > 0 {
		each(c.board.Pause(why), c.tell)
		c.tell(errors.New(why + "; the outputs are at their safe levels"))
	}
}

func (c *charge) resume() {
	if c.board != nil {
		c.board.Resume()
	}
}

// active is how many timers of outputs are set.
func (c *charge) active() int {
	if c.board == nil {
		return 0
	}
	return c.board.Active()
}

// rests says whether a line is an output that is at its safe level already.
func (c *charge) rests(line string) bool { return c.board != nil && c.board.IsSafe(line) }

// safe is for when something failed inside.
func (c *charge) safe() {
	if c.board != nil {
		each(c.board.Safe(), c.tell)
	}
}

// watch starts the hardware watchdog that the rules name, and feeds it while alive says
// so. A simulated board resets nothing.
func (c *charge) watch(alive func() bool) (err error) {
	if c.rules == nil || c.rules.Watchdog.Device == "" || c.beneath.Info().Simulated {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	if c.watchdog, err = linux.OpenWatchdog(c.rules.Watchdog.Device, c.rules.Watchdog.Timeout); err != nil {
		return fmt.Errorf("the watchdog of %s: %w", c.rules.File, err)
	}
	c.watchdog.Guard(alive)
	return nil
}

// answers waits until the dispatcher of a server shows that it does not hang.
func answers(srv *rpc.Server) bool {
	for !srv.Answers() {
		time.Sleep(time.Millisecond)
	}
	return true
}

// end ends the charge once the board is closed. What could not be brought to rest stays
// in the journal, for the next process.
func (c *charge) end(closed error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	var errs []error
	if c.journal != nil {
		errs = append(errs, c.journal.Close(closed == nil))
	}
	if c.watchdog != nil {
		errs = append(errs, c.watchdog.Close())
	}
	return errors.Join(errs...)
}

// lifeline is the stream to the client: its end is the end of what the client holds.
type lifeline struct {
	*stdio.Stream
	ended func()
}

func (l lifeline) Read(b []byte) (int, error) {
	n, err := l.Stream.Read(b)
	if err != nil {
		l.ended()
	}
	return n, err
}

// safe brings all outputs to rest by hand: those of processes that were killed, those
// of the board file, and, by asking them, those of processes that live.
func safe(f cli.Flags, stdout, stderr io.Writer) int {
	file, err := readConfig(f.Config)
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	rules := (*policy.Rules)(nil)
	if file != nil {
		rules = file.Rules
	}
	beneath, err := pick(f.Board, file.Sim)
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	defer beneath.Close()
	status := cli.ExitOK
	tell := func(err error) { status = cli.Fail(stderr, cli.ExitFailed, err.Error()) }

	held := make(map[[2]string]bool) // what processes have that live, by family and name
	folder, kind, err := place(beneath, rules)
	if err != nil {
		tell(err)
	} else if folder != "" {
		found, err := journal.Look(folder, kind)
		each(err, tell)
		for _, f := range found {
			if f.Alive {
				for _, text := range f.Outputs {
					if a, err := policy.ParseAtRest(text); err == nil {
						held[[2]string{a.Family, a.Name}] = true
					}
				}
				if err := halt(f, kind); err != nil {
					tell(err)
					continue
				}
				_, _ = fmt.Fprintf(stdout, "process %d (%s) has halted its outputs\n", f.PID, f.Command)
				continue
			}
			err := rest(beneath, f.Outputs)
			if err != nil {
				tell(err)
			} else {
				_, _ = fmt.Fprintf(stdout, "process %d (%s) had ended; its outputs are at rest\n", f.PID, f.Command)
			}
			if err := f.Close(err == nil); err != nil {
				tell(err)
			}
		}
	}
	n := 0
	if rules != nil {
		board, err := policy.Wrap(beneath, rules, nil)
		if err != nil {
			return cli.Fail(stderr, cli.ExitUsage, err.Error())
		}
		for _, a := range board.AtRest() {
			n++
			switch err := a.Apply(beneath); {
			case err == nil:
				_, _ = fmt.Fprintln(stdout, rules.Describe(a))
			case held[[2]string{a.Family, a.Name}] && errors.Is(err, device.ErrBusy): // its process was asked
			default:
				tell(err)
			}
		}
	}
	if n == 0 && len(held) == 0 && status == cli.ExitOK {
		_, _ = fmt.Fprintln(stdout, "No output has a safe level.")
	}
	return status
}

// haltWithin is how long a process may take to halt its outputs.
const haltWithin = time.Second

// halt asks a process to halt its outputs, and waits until it has.
func halt(f *journal.Found, kind string) error {
	if err := f.Halt(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d (%s) cannot be asked to halt its outputs: %w; run this as its user, or as root", f.PID, f.Command, err)
	}
	for end := time.Now().Add(haltWithin); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		now, err := f.Again(kind)
		switch {
		case err != nil:
			return err
		case now == nil: // it has ended in good order
			return nil
		case !now.Alive: // or not
			return errors.Join(fmt.Errorf("process %d (%s) has ended; run this once more", f.PID, f.Command), now.Close(false))
		case now.Halted && now.Failed != "":
			return fmt.Errorf("process %d (%s): %s", f.PID, f.Command, now.Failed)
		case now.Halted:
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) does not answer within %v; end it with: kill -9 %d, then run this once more", f.PID, f.Command, haltWithin, f.PID)
}
