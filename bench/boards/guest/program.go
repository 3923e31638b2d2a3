//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// program is one that was started with pipes.
type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	ended chan error
}

// answerWait bounds an answer and an end.
const answerWait = 20 * time.Second

func (g *guest) start(name string, words []string) error {
	errs, err := os.Create("/" + name)
	if err != nil {
		return err
	}
	defer errs.Close()
	p := &program{cmd: exec.Command(words[0], words[1:]...), lines: make(chan string, 16), ended: make(chan error, 1)}
	p.cmd.Stderr = errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
		p.ended <- p.cmd.Wait()
	}()
	if g.started == nil {
		g.started = map[string]*program{}
	}
	g.started[name] = p
	return nil
}

func (g *guest) ask(name, quoted string) (string, error) {
	p := g.started[name]
	text, err := strconv.Unquote(quoted)
	switch {
	case p == nil:
		return "", errNoServer
	case err != nil:
		return "", err
	}
	if _, err := io.WriteString(p.in, text+"\n"); err != nil {
		return "", err
	}
	select {
	case line := <-p.lines:
		return line, nil
	case <-time.After(answerWait):
		return "", fmt.Errorf("no answer within %v", answerWait)
	}
}

func (g *guest) end(words []string) (string, error) {
	p := g.started[words[0]]
	if p == nil {
		return "", errNoServer
	}
	delete(g.started, words[0])
	began, err := time.Now(), error(nil)
	if words[1] == "close" {
		err = p.in.Close()
	} else {
		var n int
		if n, err = strconv.Atoi(words[1]); err == nil {
			err = p.cmd.Process.Signal(unix.Signal(n))
		}
	}
	if err != nil {
		return "", err
	}
	took := time.Duration(0)
	for len(words) == 4 {
		text, err := os.ReadFile(words[2])
		took = time.Since(began)
		switch {
		case err != nil:
			return "", err
		case strings.TrimSpace(string(text)) == words[3]:
			words = words[:2]
		case took > answerWait:
			return "", fmt.Errorf("after %v there is %q in %s", answerWait, text, words[2])
		}
	}
	select {
	case err = <-p.ended:
	case <-time.After(answerWait):
		return "", fmt.Errorf("it has not ended within %v", answerWait)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return fmt.Sprintf("%d %v", took.Microseconds(), p.cmd.ProcessState), nil
}
