//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdogThatIsNone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such watchdog (ENOENT); load its driver",
		file:                       "(" + noDevice(t) + ")",
	} {
		if _, err := OpenWatchdog(path, time.Second); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A file stands for the device: it shows what was written.
func TestWatchdogIsFedWhileTheServerLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "watchdog")
		file, err := os.Create(path)
		must(t, err)
		w := &Watchdog{file: file, timeout: 8 * time.Second, stop: make(chan struct{})}
		food := func() string {
			synctest.Wait()
			b, err := os.ReadFile(path)
			must(t, err)
			return strings.ReplaceAll(string(b), "\x00", ".")
		}
		var dead atomic.Bool
		w.Guard(func() bool { return !dead.Load() })
		time.Sleep(2500 * time.Millisecond)
		if got := food(); got != "..." {
			t.Errorf("%q", got)
		}
		dead.Store(true)
		time.Sleep(time.Minute)
		if got := food(); got != "..." {
			t.Errorf("fed though nobody lives: %q", got)
		}
		dead.Store(false)
		time.Sleep(time.Second)
		must(t, w.Close())
		must(t, w.Close())
		if got := food(); got != "....V" {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Minute)
		if got := food(); got != "....V" {
			t.Errorf("%q after it was closed", got)
		}
	})
}
