//go:build !unix

package journal

import (
	"errors"
	"os"
)

// Only the simulated board runs here: a journal that is there is an old one.
func lock(*os.File) error { return nil }

func ask(int) error { return errors.New("this system has no signal for it; end the process by hand") }

// Asked are the signals by which Halt asks this process; here there are none.
func Asked() []os.Signal { return nil }

func started(int) uint64 { return 0 }
