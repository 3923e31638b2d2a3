// Package audit writes down what was done on a board: a file of JSON lines, one
// for each call, which is rotated by size. Writing a line never waits for the file:
// lines are put in a buffer of fixed size and written out by a goroutine of the
// log's own; one that finds no room is counted, and the next line that does says
// how many are missing, as "dropped".
//
// The files are NAME, the newest, then NAME.1, NAME.2 and so on.
package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// Options bound a log. A zero field means its default.
type Options struct {
	MaxBytes int // of one file, after which the next begins; DefaultMaxBytes
	Keep     int // older files that are kept; DefaultKeep
}

// The defaults: five files of 1 MiB are some 25,000 calls.
const (
	DefaultMaxBytes = 1 << 20
	DefaultKeep     = 4
)

const (
	// maxBuffered is the room for lines that were not written out, in bytes.
	maxBuffered = 64 << 10
	// writeAfter is how long a line waits for others to be written out with it.
	writeAfter = 100 * time.Millisecond
	// closeWithin is how long Close waits for a file that takes no more.
	closeWithin = time.Second
)

// Log is an open audit log. It is safe for use by several goroutines at once, and
// by several processes on one file.
type Log struct {
	name   string
	limits Options
	report func(error)

	mu      sync.Mutex // never held while the file is touched
	lines   []byte     // not written out
	dropped int        // lines that are missing before the next
	told    int        // how many of them the lines say are missing
	timer   *time.Timer
	closed  bool

	file    sync.Mutex // held while the file is written
	f       *os.File
	spare   []byte
	failing bool
}

// Open opens the log called name, which it creates where there is none, and whose
// folder must be there. report is told when lines cannot be written, once until
// they can again; it may be called from any goroutine, and nil drops it.
func Open(name string, o Options, report func(error)) (*Log, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if report == nil {
		report = func(error) {}
	}
	l := &Log{name: name, limits: o, report: report,
		lines: make([]byte, 0, maxBuffered), spare: make([]byte, 0, maxBuffered)}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	l.timer = time.AfterFunc(time.Hour, l.flush)
	l.timer.Stop()
	return l, nil
}

// Write adds one line, a JSON object without a line end, of which nothing is kept.
// It never waits for the file, and allocates nothing.
func (l *Log) Write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const more = len(`,"dropped":`) + 20 + 1
	if l.closed || len(l.lines)+len(line)+more > cap(l.lines) {
		l.dropped++
		return
	}
	if len(l.lines) == 0 {
		l.timer.Reset(writeAfter)
	}
	half := len(l.lines) > maxBuffered/2
	l.lines = append(l.lines, line...)
	if l.dropped > 0 {
		l.lines = append(l.lines[:len(l.lines)-1], `,"dropped":`...)
		l.lines = append(strconv.AppendInt(l.lines, int64(l.dropped), 10), '}')
		l.told, l.dropped = l.told+l.dropped, 0
	}
	l.lines = append(l.lines, '\n')
	if !half && len(l.lines) > maxBuffered/2 {
		l.timer.Reset(0)
	}
}

// Close writes out what is left, and drops lines from now on. It waits at most a
// second for a file that takes nothing. It is safe to call twice.
func (l *Log) Close() error {
	l.mu.Lock()
	done := l.closed
	l.closed = true
	l.timer.Stop()
	l.mu.Unlock()
	if done {
		return nil
	}
	end := make(chan error, 1)
	go func() {
		l.flush()
		l.file.Lock()
		defer l.file.Unlock()
		if l.f == nil {
			end <- nil
			return
		}
		end <- l.f.Close()
	}()
	select {
	case err := <-end:
		return err
	case <-time.After(closeWithin):
		return fmt.Errorf("the audit log %s takes no more, and its last lines are lost", l.name)
	}
}

// flush writes out what there is.
func (l *Log) flush() {
	l.file.Lock()
	defer l.file.Unlock()
	l.mu.Lock()
	lines, told := l.lines, l.told
	l.lines, l.told = l.spare[:0], 0
	l.mu.Unlock()
	l.spare = lines
	if len(lines) == 0 {
		return
	}
	rest, err := l.append(lines)
	if err == nil {
		l.failing = false
		return
	}
	if len(rest) < len(lines) {
		told = 0 // it was, most likely
	}
	l.mu.Lock()
	l.dropped += bytes.Count(rest, []byte{'\n'}) + told
	l.mu.Unlock()
	if !l.failing {
		l.report(fmt.Errorf("the audit log cannot be written, and calls go on without: %w", err))
	}
	l.failing = true
}

// append writes whole lines at the end of the file, and of the next one where it
// is full. It gives what could not be written. The caller has the file's lock.
func (l *Log) append(lines []byte) (rest []byte, err error) {
	size, err := l.find()
	for len(lines) > 0 && err == nil {
		room := int64(l.limits.MaxBytes) - size
		n := wholeLines(lines, room)
		if n == 0 && size > 0 {
			if err = l.rotate(); err == nil {
				size = 0
			}
			continue
		}
		if n == 0 { // longer than a file may be
			n = bytes.IndexByte(lines, '\n') + 1
		}
		var wrote int
		wrote, err = l.f.Write(lines[:n])
		lines, size = lines[wrote:], size+int64(wrote)
	}
	return lines, err
}

// wholeLines is how many bytes of the lines that fit in room are whole lines.
func wholeLines(lines []byte, room int64) int {
	if room <= 0 {
		return 0
	}
	if int64(len(lines)) <= room {
		return len(lines)
	}
	return bytes.LastIndexByte(lines[:room], '\n') + 1
}

// find makes sure that the open file is the one that has the name, which may have
// been rotated by another process, and gives its size.
func (l *Log) find() (int64, error) {
	if l.f != nil {
		named, err := os.Stat(l.name)
		open, err2 := l.f.Stat()
		if err == nil && err2 == nil && os.SameFile(named, open) {
			return open.Size(), nil
		}
		_ = l.f.Close()
		l.f = nil
	}
	if err := l.open(); err != nil {
		return 0, err
	}
	info, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// open opens the file; where its last line was cut off, by a power failure, a new
// one begins.
func (l *Log) open() error {
	f, err := os.OpenFile(l.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return errors.Join(err, f.Close())
	case !info.Mode().IsRegular():
		return errors.Join(fmt.Errorf("%s is no file", l.name), f.Close())
	case info.Size() > 0:
		var last [1]byte
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			_, err = f.Write([]byte{'\n'})
			if err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	l.f = f
	return nil
}

// rotate renames the files, each to the next number, and opens a new one.
func (l *Log) rotate() error {
	_ = l.f.Close()
	l.f = nil
	for i := l.limits.Keep; i > 0; i-- {
		err := os.Rename(numbered(l.name, i-1), numbered(l.name, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.open()
}

func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "." + strconv.Itoa(i)
}

// Read gives all lines of a log, the oldest first, to a function that keeps
// nothing of them. It ends at that function's first error.
func Read(name string, each func(line []byte) error) error {
	oldest := 0
	for {
		if _, err := os.Stat(numbered(name, oldest+1)); err != nil {
			break
		}
		oldest++
	}
	for i := oldest; i >= 0; i-- {
		if err := readFile(numbered(name, i), each); err != nil && !(i > 0 && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

func readFile(name string, each func(line []byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	for len(text) > 0 && err == nil {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if len(line) > 0 {
			err = each(line)
		}
		text = rest
	}
	return err
}
