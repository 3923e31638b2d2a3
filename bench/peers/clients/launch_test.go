package clients

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// launchWord, as the first argument, makes this program the launcher: what the
// clients start in place of boardhand, to see what passes between the two. (The
// Inspector, besides, takes any --config on its command line as its own.)
const launchWord = "launch"

// boardFile is the name of the board file in a server's folder. The others are
// the endings of the launcher's notes there, after the process's number: what
// the client sent, what it received, stderr, and last the exit status.
const (
	boardFile    = "board.toml"
	sentNote     = ".sent"
	receivedNote = ".received"
	stderrNote   = ".stderr"
	statusNote   = ".status"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == launchWord {
		status, err := launch(os.Args[2], os.Args[3])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// launch runs boardhand, the program exe, with the board file in dir, and hands
// on every byte as it comes, and the SIGTERM that some clients send. After a
// SIGKILL there is no note of a status.
func launch(dir, exe string) (status int, err error) {
	base := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	notes := map[string]*os.File{}
	for _, ending := range []string{receivedNote, stderrNote, sentNote} {
		if notes[ending], err = os.Create(base + ending); err != nil {
			return 1, err
		}
	}
	cmd := exec.Command(exe, "serve", "--board", "sim", "--config", filepath.Join(dir, boardFile))
	cmd.Stdout = io.MultiWriter(notes[receivedNote], os.Stdout)
	cmd.Stderr = notes[stderrNote]
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range told {
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		_, _ = io.Copy(in, io.TeeReader(os.Stdin, notes[sentNote]))
		_ = in.Close()
	}()
	if err = cmd.Wait(); cmd.ProcessState == nil {
		return 1, err
	}
	status = cmd.ProcessState.ExitCode()
	return status, os.WriteFile(base+statusNote, []byte(strconv.Itoa(status)), 0o644)
}
