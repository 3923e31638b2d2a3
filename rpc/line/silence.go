package line

import (
	"sync"
	"time"

	"boardhand/frame/link"
)

// silence tells when nothing was heard for some time.
type silence struct {
	after time.Duration
	tell  func(silent bool)

	mu     sync.Mutex // held while it is told, so that what is told last is so
	timer  *time.Timer
	until  time.Time // zero: nobody is listened to
	silent bool
}

// heard begins the time anew.
func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends()
	s.until = time.Now().Add(s.after)
	if s.timer == nil {
		s.timer = time.AfterFunc(s.after, s.expire)
	} else {
		s.timer.Reset(s.after)
	}
}

// over is for when there is nobody to listen to.
func (s *silence) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends()
	s.until = time.Time{}
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *silence) ends() {
	if s.silent {
		s.silent = false
		s.tell(false)
	}
}

// expire runs when the timer fires, which may be for what was stopped or set anew since.
func (s *silence) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || s.silent || time.Now().Before(s.until) {
		return
	}
	s.silent = true
	s.tell(true)
}

// heard is the port of a line, on which bytes are a sign of life as long as there is a
// session of the link. Noise is too; it does not keep a session from its end.
type heard struct {
	link.Port
	line *Line
}

func (p heard) Read(b []byte) (int, error) {
	n, err := p.Port.Read(b)
	if n > 0 && p.line.plain.ignored() {
		p.line.quiet.heard()
	}
	return n, err
}
