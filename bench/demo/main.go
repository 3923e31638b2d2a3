// Command demo shows a session with boardhand on its simulated board: each
// request that a client sends, and each answer, over the pipes of the real
// program.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"boardhand/bench/client"
)

func main() {
	exe := flag.String("exe", "./boardhand", "the program to show")
	flag.Parse()
	if err := run(*exe); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(exe string) error {
	exe, err := filepath.Abs(exe)
	if err != nil {
		return err
	}
	c, err := client.Start(exe, "serve", "--board", "sim")
	if err != nil {
		return err
	}
	defer c.Close()
	s := &show{client: c, colour: isTerminal(os.Stdout)}

	fmt.Println("An AI client starts boardhand and speaks MCP 2026-07-28 with it over pipes.")
	fmt.Println("→ is what the client sends, ← what comes back; … stands for what is left out here.")

	s.title("What are you?")
	s.ask("server/discover", "")
	s.title("What can you do?")
	s.ask("tools/list", "")

	s.title("Read a sensor")
	s.call("sensor_read", `{"sensor":"cpu-thermal"}`)

	s.title("Write a line; GPIO27 is wired to it")
	s.call("gpio_write", `{"line":"GPIO17","level":1}`)
	s.want(`"level":1`, "gpio_read", `{"lines":["GPIO27"]}`)

	s.title("Let it go low for 300 ms, and see it return")
	s.call("gpio_write", `{"line":"GPIO17","level":0,"for_ms":300}`)
	s.want(`"level":0`, "gpio_read", `{"lines":["GPIO27"]}`)
	s.remark("half a second later")
	time.Sleep(500 * time.Millisecond)
	s.want(`"level":1`, "gpio_read", `{"lines":["GPIO27"]}`)

	s.title("Scan I2C bus 1")
	s.want(`"0x76"`, "i2c_scan", `{"bus":1}`)
	s.title("Which chip is at 0x76? A BME280 has 60 in register 0xd0")
	s.want(`"data":"60"`, "i2c_read", `{"bus":1,"address":"0x76","register":"0xd0"}`)

	s.title("Write a line that the kernel's SPI driver owns: refused")
	s.refused("gpio_write", `{"line":"GPIO8","level":0}`)

	if s.err == nil {
		if err := c.CloseInput(); err != nil {
			return err
		}
		if status, err := c.Wait(client.Timeout); err != nil || status != 0 {
			return fmt.Errorf("boardhand ended with status %d: %v %s", status, err, c.Stderr())
		}
	}
	if s.err != nil {
		return fmt.Errorf("%w\n%s", s.err, c.Stderr())
	}
	s.title("Let your client start it")
	return setup(exe)
}

// setup shows what boardhand itself says about a client's configuration.
func setup(exe string) error {
	cmd := exec.Command(exe, "setup", "claude-code")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return err
	}
	fmt.Println("\nAdd --board sim to stay on the simulated board. \"boardhand setup\" lists other clients.")
	return nil
}

// show sends requests and prints them with their answers. After an error it does
// nothing more.
type show struct {
	client *client.Client
	colour bool
	told   bool // what _meta holds was shown
	err    error
}

// Colours of a terminal (ECMA-48, SGR).
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	plain = "\x1b[0m"
)

func (s *show) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return colour + text + plain
}

func (s *show) title(text string) {
	if s.err == nil {
		fmt.Println("\n" + s.paint(bold, text))
	}
}

func (s *show) remark(text string) {
	if s.err == nil {
		fmt.Println(s.paint(dim, "  ("+text+")"))
	}
}

func (s *show) call(tool, arguments string) { s.want("", tool, arguments) }

// want calls a tool, which must succeed with part in its result.
func (s *show) want(part, tool, arguments string) {
	m := s.ask("tools/call", client.CallTool(tool, arguments))
	if m == nil {
		return
	}
	r, err := m.Tool()
	if err != nil || r.IsError || !bytes.Contains(r.StructuredContent, []byte(part)) {
		s.err = fmt.Errorf("%s should have given %s: %w", tool, part, errors.Join(err, errors.New(r.Text())))
	}
}

// refused calls a tool, which must fail.
func (s *show) refused(tool, arguments string) {
	m := s.ask("tools/call", client.CallTool(tool, arguments))
	if m == nil {
		return
	}
	if r, err := m.Tool(); err != nil || !r.IsError {
		s.err = fmt.Errorf("%s should have been refused: %s", tool, m.Raw)
	}
}

func (s *show) ask(method, params string) *client.Message {
	if s.err != nil {
		return nil
	}
	m, _, err := s.client.Call(method, params)
	if err != nil {
		s.err = err
		return nil
	}
	meta := `"_meta":{…}`
	if !s.told {
		s.told, meta = true, client.Modern
	}
	text := method
	if params == "" {
		text += " {" + meta + "}"
	} else {
		text += " {" + meta + "," + params[1:]
	}
	fmt.Println(s.paint(cyan, "→ ") + text)
	arrow, text := s.paint(green, "← "), ""
	switch {
	case m.Error != nil:
		arrow, text = s.paint(red, "← "), fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	case method == "tools/list":
		text = toolNames(m)
	case method == "tools/call":
		r, err := m.Tool()
		if err != nil {
			s.err = err
			return nil
		}
		text = `{…,"structuredContent":` + string(r.StructuredContent) + "}"
		if r.IsError {
			arrow, text = s.paint(red, "← "), "isError: "+r.Text()
		}
	default:
		text = withoutMeta(m.Result)
	}
	fmt.Println(arrow + cut(text))
	return m
}

// toolNames shows a tools/list by the tools' names.
func toolNames(m *client.Message) string {
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		return err.Error()
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, `{"name":"`+t.Name+`",…}`)
	}
	return fmt.Sprintf("{…,\"tools\":[%s]}   (%d bytes in all)", strings.Join(names, ","), len(m.Raw))
}

// withoutMeta shows a result without what every one of them has.
func withoutMeta(result []byte) string {
	if at := bytes.Index(result, []byte(`"supportedVersions"`)); at > 0 {
		return "{…," + string(result[at:])
	}
	return string(result)
}

// longest is how many characters of one message are shown.
const longest = 420

// cut shortens what is long, and says by how much.
func cut(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + fmt.Sprintf("…   (%d characters more)", n-longest)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
