// Package journal keeps on disk which outputs a process has taken charge of and how
// each is at rest, so that after a kill or a power failure the next process can bring
// them there first. A journal is written once, before the outputs are used, and is
// removed at the orderly end; nothing is written while they work. It is locked by
// flock(2) for as long as its process lives, however that ends, so the lock also
// tells who is in charge at present.
//
// A journal is a short text, boardhand-1234.outputs in a folder that outlives a
// reboot:
//
//	boardhand outputs 1
//	board linux
//	pid 1234
//	started 86400
//	command boardhand serve --config board.toml
//	line "GPIO17" low
//	pwm "pwmchip0/0" off
//
// The process's time of start is in the kernel's ticks since it booted; 0 is unknown.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	heading = "boardhand outputs 1"
	prefix  = "boardhand-"
	suffix  = ".outputs"
	fresh   = ".new" // while it is being written

	maxSize     = 256 << 10 // bytes of one journal
	maxJournals = 64        // that are looked at
	maxCommand  = 200       // bytes of the command that is kept
)

// Folder is where journals are kept: systemd's $STATE_DIRECTORY, for root
// /var/lib/boardhand, else boardhand below $XDG_STATE_HOME or ~/.local/state.
func Folder() (string, error) {
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/boardhand", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "boardhand"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for the journal of outputs: %w; give outputs.state in the board file", err)
	}
	return filepath.Join(home, ".local/state/boardhand"), nil
}

// Journal is that of this process.
type Journal struct {
	file *os.File
	path string
}

// Open writes the journal of this process and locks it. board tells boards apart
// whose outputs are not the same, "linux" or "sim"; outputs are lines of text without
// line ends. An error names the path.
func Open(folder, board string, outputs []string) (*Journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the journal of outputs: %w", err)
	}
	path, err := free(filepath.Join(folder, prefix+strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, fmt.Errorf("the journal of outputs: %w", err)
	}
	j := &Journal{path: path}
	command := printable(strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " "))
	text := fmt.Sprintf("%s\nboard %s\npid %d\nstarted %d\ncommand %.*s\n%s\n", heading, board, os.Getpid(), started(os.Getpid()), maxCommand, command,
		strings.Join(outputs, "\n"))
	if j.file, err = os.OpenFile(j.path+fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
		err = lock(j.file)
	}
	if err == nil {
		_, err = j.file.WriteString(text)
	}
	if err == nil {
		err = os.Rename(j.path+fresh, j.path)
	}
	if err != nil {
		if j.file != nil {
			_ = j.file.Close()
		}
		return nil, fmt.Errorf("the journal of outputs: %w", err)
	}
	// It need not be on the disk before the outputs are used: a power failure ends
	// them too, and the start must be quick.
	go func() {
		_ = j.file.Sync()
		if dir, err := os.Open(folder); err == nil {
			_ = dir.Sync() // the name
			_ = dir.Close()
		}
	}()
	return j, nil
}

// free is the path of a journal that begins so and is not there: that of an earlier
// process of the same number may be, where its outputs could not be brought to rest.
func free(begin string) (string, error) {
	for n := 1; n <= maxJournals; n++ {
		path := begin + suffix
		if n > 1 {
			path = begin + "-" + strconv.Itoa(n) + suffix
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s%s and %d more are there; make sure that the outputs are at rest, then remove them", begin, suffix, maxJournals-1)
}

// printable is text on one line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// Halted writes down that this process has halted its outputs, as it was asked to, and
// what of it failed.
func (j *Journal) Halted(failed error) error {
	line := halted
	if failed != nil {
		line += " " + printable(failed.Error())
	}
	_, err := j.file.WriteString(line + "\n")
	return err
}

// halted begins the line that Halted writes.
const halted = "halted"

// Close removes the journal: the outputs are at rest. Where atRest is false they are
// not, and the journal is left for whoever looks next, as if this process had ended.
func (j *Journal) Close(atRest bool) error { return done(j.file, j.path, atRest) }

func done(file *os.File, path string, atRest bool) error {
	err := error(nil)
	if atRest {
		err = os.Remove(path)
	}
	return errors.Join(err, file.Close())
}

// Found is a journal that another process has written.
type Found struct {
	PID     int
	Command string
	Outputs []string
	// Alive says that the process lives, and is in charge.
	Alive bool
	// Halted says that it has halted its outputs, but for Failed.
	Halted bool
	Failed string

	started uint64 // see started; 0: unknown
	file    *os.File
	path    string
}

// Look reads the journals of a board in a folder. Those whose processes have ended
// are locked until they are closed, so that no two processes set to them. A folder
// that is not there has none. What cannot be read is in the error, and the rest is given.
func Look(folder, board string) ([]*Found, error) {
	paths, err := filepath.Glob(filepath.Join(folder, prefix+"*"+suffix))
	if err != nil {
		return nil, err
	}
	var errs []error
	if n := len(paths); n > maxJournals {
		errs = append(errs, fmt.Errorf("%s holds %d journals of outputs; the first %d are looked at", folder, n, maxJournals))
		paths = paths[:maxJournals]
	}
	var all []*Found
	for _, path := range paths {
		f, err := look(path, board)
		if err != nil {
			errs = append(errs, err)
		}
		if f != nil {
			all = append(all, f)
		}
	}
	return all, errors.Join(errs...)
}

// look reads one journal; nil where it is of another board or gone by now.
func look(path, board string) (*Found, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("a journal of outputs: %w", err)
	}
	f := &Found{file: file, path: path, Alive: lock(file) != nil}
	text := make([]byte, maxSize+1)
	n, _ := file.ReadAt(text, 0)
	ok, err := f.parse(string(text[:n]), board)
	opened, err2 := file.Stat()
	there, err3 := os.Stat(path)
	if !ok || err2 != nil || err3 != nil || !os.SameFile(opened, there) {
		_ = file.Close()
		return nil, err
	}
	if f.Alive {
		f.file = nil
		_ = file.Close()
	}
	return f, nil
}

// Again is the journal as it is now; nil where it is gone, for its process has ended in
// good order.
func (f *Found) Again(board string) (*Found, error) { return look(f.path, board) }

// parse reads the text; ok says that it is of the board.
func (f *Found) parse(text, board string) (ok bool, err error) {
	bad := func(what string) (bool, error) {
		return false, fmt.Errorf("%s is no journal of outputs: %s; make sure that they are at rest, then remove it", f.path, what)
	}
	if len(text) > maxSize {
		return bad(fmt.Sprintf("more than %d bytes", maxSize))
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 6 || lines[0] != heading || lines[len(lines)-1] != "" {
		return bad("it is not whole")
	}
	kind, ok1 := strings.CutPrefix(lines[1], "board ")
	pid, ok2 := strings.CutPrefix(lines[2], "pid ")
	since, ok3 := strings.CutPrefix(lines[3], "started ")
	command, ok4 := strings.CutPrefix(lines[4], "command ")
	n, err := strconv.Atoi(pid)
	begun, err2 := strconv.ParseUint(since, 10, 64)
	if !ok1 || !ok2 || !ok3 || !ok4 || err != nil || err2 != nil || n < 1 {
		return bad("it does not say whose it is")
	}
	f.PID, f.started, f.Command = n, begun, printable(command)
	for _, line := range lines[5 : len(lines)-1] {
		if failed, ok := strings.CutPrefix(line, halted); ok {
			f.Halted, f.Failed = true, strings.TrimSpace(failed)
		} else if line != "" {
			f.Outputs = append(f.Outputs, line)
		}
	}
	return kind == board, nil
}

// Close removes the journal of a process that has ended, or where atRest is false
// leaves it for another try.
func (f *Found) Close(atRest bool) error {
	if f.file == nil {
		return nil
	}
	return done(f.file, f.path, atRest)
}

// Halt asks the process of a journal that is Alive to halt its outputs. It is
// os.ErrProcessDone where another process is about to bring them to rest by now.
func (f *Found) Halt() error {
	if now := started(f.PID); f.started != 0 && now != f.started {
		return os.ErrProcessDone // the number may be another process's
	}
	return ask(f.PID)
}
