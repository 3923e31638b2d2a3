package cli

import (
	"bytes"
	"strings"
	"testing"

	"boardhand/frame"
)

func TestHelpCoversEveryCommandInUsage(t *testing.T) {
	_, list, _ := strings.Cut(usage, "Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, line := range strings.Split(list, "\n") {
		name := strings.Fields(line)[0]
		var stdout, stderr bytes.Buffer
		if status := Help(name, &stdout, &stderr); status != ExitOK || stdout.Len() == 0 || stderr.Len() > 0 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", name, status, &stdout, &stderr)
		}
		for _, line := range strings.Split(stdout.String(), "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of %d bytes: %s", name, len(line), line)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr, all bytes.Buffer
	Usage(&all)
	want(t, Help("", &stdout, &stderr), ExitOK, stdout.String(), all.String(), stderr.String(), "")
	stdout.Reset()
	want(t, Help("srve", &stdout, &stderr), ExitUsage, stdout.String(), "", stderr.String(),
		"boardhand: there is no command \"srve\"; \"boardhand help\" shows all\n")
}

func TestVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if Version("1.2.3", &stdout, &stderr) != ExitOK || !strings.HasPrefix(stdout.String(), "boardhand 1.2.3 ") ||
		!strings.Contains(stdout.String(), "\nMCP 2026-07-28, ") {
		t.Error(stdout.String())
	}
}

func TestGreetingsLineIsARequestThatTheServerAnswers(t *testing.T) {
	var greeting, out bytes.Buffer
	Greeting(&greeting, true, "Simulated\x1b[2J board")
	plain(t, greeting.Bytes())
	if !strings.Contains(greeting.String(), "is simulated") {
		t.Error("it does not say that the board is simulated")
	}
	for _, line := range strings.Split(greeting.String(), "\n") {
		if strings.HasPrefix(line, "{") {
			c := server().NewConn(&out)
			c.Handle([]byte(line), frame.Newline)
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !strings.Contains(out.String(), `"tools":[{"name":"board_info"`) {
		t.Errorf("answer %s", &out)
	}
	greeting.Reset()
	Greeting(&greeting, false, "Raspberry Pi")
	if strings.Contains(greeting.String(), "simulated") {
		t.Error("a real board is called simulated")
	}
}
