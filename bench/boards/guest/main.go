//go:build linux

// Command guest is the first process of an emulated board. It mounts what the
// kernel offers, loads the modules named in /modules, and then does what it is
// told on the console, one command a line:
//
//	read PATH                         the file's text
//	write PATH TEXT...                one write, as to a file of sysfs
//	mkdir PATH                        a directory, as in configfs
//	poke BUS ADDRESS REGISTER BYTE... SMBus writes of one byte each, from that register on
//	block BUS ADDRESS COMMAND BYTE... an SMBus block write
//	peek BUS ADDRESS REGISTER COUNT   the bytes of registers, read one by one
//	run [NAME=VALUE...] PROGRAM...    run it to its end; its output goes to the console
//	serve TTY PROGRAM...              start it with the serial port as its standard streams, or none for "-"
//	file PATH TEXT                    a new file with the quoted text
//	start NAME PROGRAM...             start it with pipes; its errors go to the file /NAME
//	ask NAME TEXT                     write the quoted text to it as a line, and give the next line that it writes
//	end NAME close|SIGNAL [PATH TEXT] end it so, by its number or by closing its input: how many microseconds
//	                                  it took until the file has the text, and its status
//	peak                              the most memory that it has had resident, in kB
//	stop                              end it with SIGTERM
//	reboot                            start the board anew, without an answer
//
// Each command is answered by one line, "boards: ok" or "boards: error" with a
// quoted text. Everything else on the console is somebody else's. It never ends,
// for that would panic the kernel.
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

// maxText is the most bytes of a file that read gives.
const maxText = 32 << 10

func main() {
	for _, m := range []struct{ kind, dir string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"debugfs", "/sys/kernel/debug"},
	} {
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, ""); err != nil && err != unix.EBUSY {
			fmt.Println("boards: mount", m.dir, err)
		}
	}
	loadModules()
	if err := unix.Mount("configfs", "/sys/kernel/config", "configfs", 0, ""); err != nil && err != unix.ENOENT && err != unix.ENODEV {
		fmt.Println("boards: mount configfs:", err)
	}
	// Without the echo, the console shows only what the board says.
	if t, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		t.Lflag &^= unix.ECHO
		_ = unix.IoctlSetTermios(0, unix.TCSETS, t)
	}
	var g guest
	fmt.Println("boards: ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if words := strings.Fields(in.Text()); len(words) > 0 {
			answer(g.obey(words))
		}
	}
	fmt.Println("boards: the console is gone")
	select {}
}

func answer(text string, err error) {
	if err != nil {
		fmt.Printf("boards: error %q\n", err.Error())
		return
	}
	fmt.Printf("boards: ok %q\n", text)
}

// loadModules loads what /modules lists, one "FILE PARAMETERS" a line, in order.
func loadModules() {
	list, err := os.ReadFile("/modules")
	if err != nil {
		fmt.Println("boards:", err)
		return
	}
	for line := range strings.Lines(string(list)) {
		file, params, _ := strings.Cut(strings.TrimSpace(line), " ")
		image, err := os.ReadFile(file)
		if err == nil {
			err = unix.InitModule(image, params)
		}
		if err != nil {
			fmt.Println("boards: module", file, err)
		}
	}
}

// guest is what the commands share: the program that serves, if any.
type guest struct {
	server *exec.Cmd
	ended  chan error

	started map[string]*program
}

func (g *guest) obey(words []string) (string, error) {
	arguments := words[1:]
	least := map[string]int{"read": 1, "write": 2, "mkdir": 1, "poke": 4, "block": 4, "peek": 4, "run": 1, "serve": 2, "file": 2, "start": 2, "ask": 2, "end": 2}
	if len(arguments) < least[words[0]] {
		return "", fmt.Errorf("%s needs %d arguments", words[0], least[words[0]])
	}
	switch words[0] {
	case "read":
		return read(arguments[0])
	case "write":
		return "", write(arguments[0], strings.Join(arguments[1:], " "))
	case "mkdir":
		return "", os.Mkdir(arguments[0], 0o755)
	case "poke", "block", "peek":
		return registers(words[0], arguments)
	case "run":
		return "", run(arguments)
	case "serve":
		return "", g.serve(arguments[0], arguments[1:])
	case "file":
		text, err := strconv.Unquote(strings.Join(arguments[1:], " "))
		if err != nil {
			return "", fmt.Errorf("the text of %s: %w", arguments[0], err)
		}
		return "", os.WriteFile(arguments[0], []byte(text), 0o644)
	case "start":
		return "", g.start(arguments[0], arguments[1:])
	case "ask":
		return g.ask(arguments[0], strings.Join(arguments[1:], " "))
	case "end":
		return g.end(arguments)
	case "peak":
		return g.peak()
	case "stop":
		return "", g.stop()
	case "reboot":
		return "", unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	}
	return "", fmt.Errorf("no such command: %s", words[0])
}

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(text), err
}

func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func run(words []string) error {
	env := os.Environ()
	for len(words) > 1 && strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	c := exec.Command(words[0], words[1:]...)
	c.Env, c.Stdout, c.Stderr = env, os.Stdout, os.Stdout
	return c.Run()
}

func (g *guest) serve(port string, words []string) error {
	if g.server != nil {
		return errors.New("a program serves already; stop it first")
	}
	c := exec.Command(words[0], words[1:]...)
	c.Stderr = os.Stdout
	if port != "-" {
		tty, err := os.OpenFile(port, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer tty.Close()
		if err := makeRaw(int(tty.Fd())); err != nil {
			return fmt.Errorf("%s: %w", port, err)
		}
		c.Stdin, c.Stdout = tty, tty
	}
	fmt.Println("boards: serving")
	if err := c.Start(); err != nil {
		return err
	}
	g.server, g.ended = c, make(chan error, 1)
	go func() { g.ended <- c.Wait() }()
	return nil
}

// makeRaw sets a serial port to 115200 baud, 8N1, without any processing and
// without flow control.
func makeRaw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = unix.B115200 | unix.CS8 | unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

var errNoServer = errors.New("no program serves")

// peak is VmHWM of proc(5).
func (g *guest) peak() (string, error) {
	if g.server == nil {
		return "", errNoServer
	}
	status, err := read("/proc/" + strconv.Itoa(g.server.Process.Pid) + "/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSuffix(strings.TrimSpace(rest), " kB"), nil
		}
	}
	return "", errors.New("it has ended")
}

func (g *guest) stop() error {
	if g.server == nil {
		return errNoServer
	}
	server := g.server
	g.server = nil
	if err := server.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-g.ended:
		return err
	case <-time.After(20 * time.Second):
		return errors.New("it did not end within 20 s of SIGTERM")
	}
}
