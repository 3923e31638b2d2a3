package command

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"boardhand/device/linux"
	"boardhand/frame/link"
	"boardhand/rpc"
	"boardhand/tools/cli"
)

// sessions are those of the connections of a serial line, one after the other. Each has
// the board to itself; it is opened anew as soon as the one before has ended, so that the
// outputs are in charge of this process all the time.
type sessions struct {
	open func() (*session, error)
	log  io.Writer

	mu     sync.Mutex
	now    *session // nil: the board could not be opened anew
	closed bool

	grace    time.Duration   // of silence
	watchdog *linux.Watchdog // of all of them; nil: none

	host   sync.Mutex // what the line tells of the host, which waits for nothing else; taken after mu
	taken  *session   // that a connection has; or nil
	silent bool
}

// begin takes charge of the outputs, and of the watchdog.
func (s *sessions) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	o := s.now.outputs
	if s.grace = link.DefaultGrace; o.rules != nil && o.rules.Outputs.LinkGrace > 0 {
		s.grace = o.rules.Outputs.LinkGrace
	}
	o.begin(true)
	err := o.watch(s.alive)
	s.watchdog, o.watchdog = o.watchdog, nil
	return err
}

// alive waits until the dispatcher of the connection, if there is one, shows that it
// does not hang.
func (s *sessions) alive() bool {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	return now == nil || answers(now.srv)
}

// serve gives the server of a connection, and what to call when that has ended.
func (s *sessions) serve() (*rpc.Server, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errors.New("the server is ending")
	}
	if s.now == nil {
		if err := s.again(); err != nil {
			return nil, nil, err
		}
	}
	s.take(s.now)
	return s.now.srv, s.leave, nil
}

// take notes who has the board: nil for nobody. The caller has the lock.
func (s *sessions) take(taken *session) {
	s.host.Lock()
	defer s.host.Unlock()
	s.taken = taken
	if taken != nil && s.silent {
		taken.outputs.pause(s.unheard())
	}
}

// leave ends what a connection has switched on.
func (s *sessions) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(nil)
	if s.closed {
		return
	}
	s.now.close(s.log)
	if err := s.again(); err != nil {
		cli.Fail(s.log, cli.ExitFailed, "until the next connection nothing holds the outputs: "+err.Error())
	}
}

// again opens the board anew. The caller has the lock.
func (s *sessions) again() (err error) {
	if s.now, err = s.open(); err == nil {
		s.now.outputs.begin(true)
	}
	return err
}

// lost is told that the host is gone for good. Its calls may run on until they see it.
func (s *sessions) lost() {
	s.host.Lock()
	defer s.host.Unlock()
	if s.taken != nil {
		s.taken.outputs.halt("the host is gone")
	}
}

// silence is told that the host is silent, or is not any more. It may come back, and go
// on; its outputs do not wait for it.
func (s *sessions) silence(silent bool) {
	s.host.Lock()
	defer s.host.Unlock()
	s.silent = silent
	switch {
	case s.taken == nil:
	case silent:
		s.taken.outputs.pause(s.unheard())
	default:
		s.taken.outputs.resume()
	}
}

func (s *sessions) unheard() string {
	return fmt.Sprintf("nothing was heard from the host for %v", s.grace)
}

// close ends them all, for good.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(nil)
	s.closed = true
	if s.now != nil {
		s.now.close(s.log)
	}
	if s.watchdog != nil {
		if err := s.watchdog.Close(); err != nil {
			cli.Fail(s.log, cli.ExitFailed, err.Error())
		}
	}
}
