//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// authorization runs the suite's scenarios for authorization servers against a board
// that serves with --auth. The suite asks for a person with a browser: that is here.
func (s *installed) authorization(boardhand string, revisions []string, work string) error {
	board := exec.Command(boardhand, "serve", "--board", "sim", "--http", "127.0.0.1:0", "--auth", "--tokens", filepath.Join(work, "tokens.json"))
	said, err := board.StderrPipe()
	if err != nil {
		return err
	}
	if err := board.Start(); err != nil {
		return err
	}
	defer end(board)
	log := bufio.NewReader(said)
	endpoint, err := await(log, `serving at (\S+)`)
	if err != nil {
		return fmt.Errorf("boardhand: %w", err)
	}
	for _, revision := range revisions {
		start := time.Now()
		passed, err := s.authorize(endpoint, revision, log, filepath.Join(work, "oauth-"+revision))
		if err != nil {
			return fmt.Errorf("oauth at %s: %w", revision, err)
		}
		fmt.Printf("%-7s %s  %3d checks pass  (%.0f s)\n", "oauth", revision, passed, time.Since(start).Seconds())
	}
	return nil
}

// authorize runs them once; it gives how many checks pass, or an error where one does not.
func (s *installed) authorize(endpoint, revision string, log *bufio.Reader, out string) (passed int, err error) {
	issuer := strings.TrimSuffix(endpoint, "/mcp")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	registration := fmt.Sprintf(`{"client_name":"conformance","redirect_uris":["http://127.0.0.1:%s/callback"],"token_endpoint_auth_method":"none"}`, port)
	var client struct {
		ID string `json:"client_id"`
	}
	resp, err := http.Post(issuer+"/register", "application/json", strings.NewReader(registration))
	if err != nil {
		return 0, err
	}
	err = json.NewDecoder(resp.Body).Decode(&client)
	_ = resp.Body.Close()
	if err != nil || client.ID == "" {
		return 0, fmt.Errorf("registration: %s, %w", resp.Status, err)
	}
	cmd := exec.Command(s.node, s.script, "authorization", "--url", issuer, "--client-id", client.ID, "--resource", endpoint, "-p", port, "--spec-version", revision, "-o", out)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer end(cmd)
	printed := bufio.NewReader(io.TeeReader(pipe, &text))
	page, err := await(printed, `^(http\S+/authorize\?\S+)`)
	if err != nil {
		return 0, fmt.Errorf("the suite asks for no browser: %w\n%s", err, tail(text.Bytes()))
	}
	if _, err := await(printed, `(Callback server started)`); err != nil { // which it says after the page
		return 0, err
	}
	if err := approve(page, log); err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, printed)
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the suite: %w\n%s", err, tail(text.Bytes()))
	}
	files, _ := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	for _, file := range files {
		var checks []struct{ ID, Status, ErrorMessage string }
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &checks)
		}
		if err != nil {
			return passed, err
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "INFO":
			default:
				return passed, fmt.Errorf("%s: %s %s", c.ID, c.Status, c.ErrorMessage)
			}
		}
	}
	if len(files) < 2 {
		return passed, fmt.Errorf("%d scenarios were run; there are two\n%s", len(files), tail(text.Bytes()))
	}
	return passed, nil
}

// approve is the person: it opens the page, reads the pairing code in the board's log,
// and sends the form. What follows goes to the suite.
func approve(page string, log *bufio.Reader) error {
	resp, err := http.Get(page)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	request := regexp.MustCompile(`name="request" value="([^"]+)"`).FindSubmatch(body)
	if err != nil || request == nil {
		return fmt.Errorf("the approval page: %s, %w\n%s", resp.Status, err, body)
	}
	code, err := await(log, `pairing code is (\S+),`)
	if err != nil {
		return err
	}
	u, err := url.Parse(page)
	if err != nil {
		return err
	}
	form := url.Values{"request": {html.UnescapeString(string(request[1]))}, "code": {code}, "decision": {"approve"}, "write": {"yes"}}
	resp, err = http.PostForm(u.Scheme+"://"+u.Host+u.Path, form)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the approval: %s", resp.Status)
	}
	return nil
}

// await reads lines until one matches, and gives the pattern's group.
func await(r *bufio.Reader, pattern string) (string, error) {
	match := regexp.MustCompile(pattern)
	for {
		line, err := r.ReadString('\n')
		if found := match.FindStringSubmatch(line); found != nil {
			return found[1], nil
		}
		if err != nil {
			return "", fmt.Errorf("no line like %s: %w", pattern, err)
		}
	}
}
