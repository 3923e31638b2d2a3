package link

import (
	"errors"
	"fmt"
)

// The errors of Send and Receive, and reasons given to Ended.
var (
	// ErrFull is Send's with NoWait when too much waits to be sent.
	ErrFull = errors.New("link: the queue of messages to send is full; the line is slow or nothing answers: wait for room")
	// ErrClosed is Send's and Run's after Close.
	ErrClosed = errors.New("link: closed")
	// ErrEnded is Receive's once where a session ended: the messages before it
	// belonged to that one, those after it belong to the next. From the end of
	// the session until Receive is called again after it has returned this, Send
	// gives it too, so that no answer to one session is sent in the next.
	ErrEnded = errors.New("link: the session ended")

	// The reasons, of which a break of the protocol is another.
	ErrSilence   = errors.New("link: the other end has been silent for too long")
	ErrRestarted = errors.New("link: the other end has restarted")
	ErrGoodbye   = errors.New("link: the host has said goodbye") // a board's
)

// VersionError says that the two ends have no version of the link's protocol in
// common.
type VersionError struct {
	Program  string // of the other end, empty if it did not say
	Min, Max uint8  // what it speaks
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("link: the other end, %q, speaks versions %d to %d of the link, this end %d to %d; bring both to the same release", e.Program, e.Min, e.Max, minVersion, maxVersion)
}

// TooLongError says that a message is longer than an end takes.
type TooLongError struct {
	Size, Max int // bytes
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("link: a message of %d bytes; at most %d are allowed: send less, or raise the limit of both ends", e.Size, e.Max)
}
