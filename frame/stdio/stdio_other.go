//go:build !linux

package stdio

import "os"

// Stream reads from one descriptor and writes to another.
type Stream struct{ in, out *os.File }

// Open makes a stream of standard input and output, the descriptors 0 and 1.
// alone is not used on this system.
func Open(in, out int, alone func() bool) *Stream { return &Stream{os.Stdin, os.Stdout} }

// Read reads as read(2) does; the end of input is io.EOF.
func (s *Stream) Read(b []byte) (int, error) { return s.in.Read(b) }

// Write writes all of b.
func (s *Stream) Write(b []byte) (int, error) { return s.out.Write(b) }

// IsTerminal says whether a descriptor of 0 to 2 is a terminal or the like.
func IsTerminal(fd int) bool {
	info, err := []*os.File{os.Stdin, os.Stdout, os.Stderr}[fd].Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// ParentGone gives a channel that is closed when the process that started this
// one has ended; on this system that is not watched, and it stays open.
func ParentGone() <-chan struct{} { return make(chan struct{}) }
