//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"boardhand/bench"
)

// These tests need no emulator. The machines themselves are booted by the command.

func TestMachinesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range machines {
		if seen[m.name] || m.limit > 180*time.Second || len(m.checks) == 0 || (m.tests == "") != m.cable {
			t.Errorf("%s: a second one, or with a limit of %v, %d checks, tests %q", m.name, m.limit, len(m.checks), m.tests)
		}
		seen[m.name] = true
		names := map[string]bool{}
		for _, c := range m.checks {
			if names[c.name] {
				t.Errorf("%s: two checks are called %q", m.name, c.name)
			}
			names[c.name] = true
		}
		end := "session"
		if m.cable {
			end = "cable"
		}
		if qemu := strings.Join(m.qemu, " "); !strings.Contains(qemu, "chardev:"+end) && !strings.Contains(qemu, "chardev="+end) {
			t.Errorf("%s has no serial port for the %s", m.name, end)
		}
		for _, word := range strings.Fields(m.append) {
			if strings.HasPrefix(word, "mem=") {
				t.Errorf("%s: %s would limit the kernel's memory", m.name, word)
			}
		}
	}
}

func TestEveryMachineHasItsBudgets(t *testing.T) {
	budgets, err := bench.Budgets()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, b := range budgets {
		named[b.Name] = strings.HasPrefix(b.Name, "boards.")
	}
	for _, m := range machines {
		for _, name := range []string{"boards.peak_kib." + m.name, "boards.first_answer_ms." + m.name} {
			if !named[name] {
				t.Errorf("%s has no line in bench/budgets.txt", name)
			}
			delete(named, name)
		}
	}
	for name, ours := range named {
		if ours {
			t.Errorf("%s has a budget and no machine", name)
		}
	}
}

func TestABrokenBudgetFails(t *testing.T) {
	all := []bench.Budget{{Name: "boards.peak_kib.m", Max: true, Bound: 100}, {Name: "boards.first_answer_ms.m", Max: true, Bound: 100}}
	for _, c := range []struct {
		name       string
		r          report
		oks, fails int
	}{
		{"both kept", report{machine: "m", peak: "100", first: 100 * time.Millisecond}, 2, 0},
		{"too much memory", report{machine: "m", peak: "101", first: time.Millisecond}, 1, 1},
		{"too late", report{machine: "m", peak: "1", first: time.Second}, 1, 1},
		{"a machine without budgets", report{machine: "n", peak: "1", first: 1}, 0, 2},
		{"a machine that did not come so far", report{machine: "m", fails: 1}, 0, 1},
	} {
		c.r.budgets(all)
		if c.r.oks != c.oks || c.r.fails != c.fails {
			t.Errorf("%s: %d ok, %d failed", c.name, c.r.oks, c.r.fails)
		}
	}
}

func TestWhatIsLeftOutIsNeitherOkNorFailed(t *testing.T) {
	r := &report{machine: "m"}
	r.leftOut(errors.New("no kernel\ncame"))
	if !r.absent || r.checks() != 0 || summary([]*report{r}) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAnOptionalMachineWithoutItsEmulatorIsNamed(t *testing.T) {
	m := &machine{name: "m", qemu: []string{"no-such-emulator"}, tree: noTree, kernel: flavour{"amd64", "amd64", backports}}
	if _, err := prepare(m, t.TempDir(), false); err == nil || !strings.Contains(err.Error(), "no-such-emulator") {
		t.Error(err)
	}
}

func TestAKernelInTwoPackagesIsCachedWhenBothAreThere(t *testing.T) {
	dir := t.TempDir()
	f := flavour{"amd64", "amd64", backports}
	for i, c := range []struct{ name, want string }{
		{"linux-modules-7.3.4+deb13-amd64_7.3.4-1_amd64.deb", ""},
		{"linux-binary-7.3.4+deb13-amd64_7.3.4-1_amd64.deb", "linux-binary-7.3.4+deb13-amd64_7.3.4-1_amd64.deb"},
		{"linux-binary-7.3.5+deb13-amd64_7.3.5-1_amd64.deb", "linux-binary-7.3.4+deb13-amd64_7.3.4-1_amd64.deb"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1000+i), 0)); err != nil {
			t.Fatal(err)
		}
		debs, err := cached(dir, f)
		got := ""
		if len(debs) == 2 {
			got = filepath.Base(debs[0])
		}
		if err != nil || got != c.want {
			t.Errorf("with %s: %q %v, want %q", c.name, debs, err, c.want)
		}
	}
}

func TestACompressedModuleIsRead(t *testing.T) {
	if err := installed("xz"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "gpio-sim.ko")
	if err := os.WriteFile(file, []byte("image"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := output(exec.Command("xz", file)); err != nil {
		t.Fatal(err)
	}
	index, err := indexModules(dir)
	if err != nil {
		t.Fatal(err)
	}
	if image, err := readModule(index["gpio_sim"]); err != nil || string(image) != "image" {
		t.Errorf("%q %v of %v", image, err, index)
	}
}

func TestChooseNamesTheMachines(t *testing.T) {
	if got, err := choose("raspi0"); err != nil || len(got) != 1 || got[0].name != "raspi0" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := choose("raspi9"); err == nil || !strings.Contains(err.Error(), "arm64, cable, sabrelite, raspi0, amd64") {
		t.Error(err)
	}
}

func TestWhatIsMissingNamesItsPackage(t *testing.T) {
	err := installed(os.Args[0], "no-such-program")
	if err == nil || !strings.Contains(err.Error(), "apt-get install --no-install-recommends no-such-program") {
		t.Error(err)
	}
	if err := installed(os.Args[0]); err != nil {
		t.Error(err)
	}
}

// An entry of a cpio archive has a header of 110 bytes in hexadecimal; header and
// data each end at a multiple of four.
func TestArchiveCanBeRead(t *testing.T) {
	var b bytes.Buffer
	a := &archive{w: &b}
	a.add("dev", modeDir, nil, 0, 0)
	a.add("dev/console", modeDevice, nil, 5, 1)
	a.add("init", modeFile, []byte("abcde"), 0, 0)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	inodes := map[int]bool{}
	for rest := b.Bytes(); len(rest) > 0; {
		field := func(i int) int {
			n, err := strconv.ParseUint(string(rest[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		if string(rest[:6]) != "070701" || inodes[field(0)] {
			t.Fatalf("header %q", rest[:110])
		}
		inodes[field(0)] = true
		start := (110 + field(11) + 3) &^ 3
		name := string(rest[110 : 110+field(11)-1])
		names = append(names, name)
		data := rest[start : start+field(6)]
		switch name {
		case "init":
			if string(data) != "abcde" || field(1) != modeFile {
				t.Errorf("%q, mode %o", data, field(1))
			}
		case "dev/console":
			if field(9) != 5 || field(10) != 1 {
				t.Errorf("device %d:%d", field(9), field(10))
			}
		}
		rest = rest[(start+field(6)+3)&^3:]
	}
	if got := strings.Join(names, " "); got != "dev dev/console init TRAILER!!!" {
		t.Error(got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestArchiveKeepsItsFirstError(t *testing.T) {
	a := &archive{w: full{}}
	a.add("init", modeFile, []byte("x"), 0, 0)
	if err := a.close(); err == nil || err.Error() != "full" {
		t.Error(err)
	}
}

func TestAModuleThatIsNotThereIsNamed(t *testing.T) {
	err := writeInitramfs(filepath.Join(t.TempDir(), "x"), nil, map[string]string{}, []string{"i2c-dev"})
	if err == nil || !strings.Contains(err.Error(), "i2c_dev") {
		t.Error(err)
	}
}

func TestDeviceTreeIsEdited(t *testing.T) {
	if err := installed("dtc", "fdtput"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "tree.dtb")
	c := exec.Command("dtc", "-q", "-I", "dts", "-O", "dtb", "-o", path)
	c.Stdin = strings.NewReader(`/dts-v1/; / { port { status = "disabled"; dmas = <1>; }; other { }; };`)
	if _, err := output(c); err != nil {
		t.Fatal(err)
	}
	edits := append(without([]string{"dmas", "dma-names"}, "/port", "/other"), treeEdit{"/port", "status", "okay"})
	if err := editTree(path, edits, `/ { leds { gpios = <&{/port} 3 0>; }; };`); err != nil {
		t.Fatal(err)
	}
	text, err := output(exec.Command("dtc", "-q", "-I", "dtb", "-O", "dts", path))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `status = "okay"`) || strings.Contains(text, "dmas") || !strings.Contains(text, "leds {") {
		t.Error(text)
	}
	if err := editTree(path, []treeEdit{{"/nowhere", "status", "okay"}}, ""); err == nil {
		t.Error("a node that is not there was edited")
	}
}

func TestLineUse(t *testing.T) {
	const text = `gpiochip1: GPIOs 512-543, parent: platform/209c000.gpio, 209c000.gpio:
 gpio-514 (                    |regulators:regulator) out lo ACTIVE LOW

gpiochip0: GPIOs 504-511, parent: amba/9030000.pl061, 9030000.pl061:
 gpio-507 (                    |GPIO Key Poweroff   ) in  lo IRQ
 gpio-511 (                    |boardhand           ) out hi

gpiochip2: 16 GPIOs, parent: platform/gpio-sim.0, sim:
 gpio-3   (POWER               |hog                 ) out hi

gpiochip3: 4 GPIOs, parent: platform/gpio-sim.1, sim, can sleep:
 gpio-1   (boardhand) output-high,pull-down
 gpio-2   (boardhand) input,pull-up
 gpio-3   (<unused>) input,pull-down
`
	for _, c := range []struct {
		parent string
		n      int
		want   string
	}{
		{"9030000.pl061", 7, "boardhand out hi"},
		{"9030000.pl061", 3, "GPIO Key Poweroff in lo"},
		{"9030000.pl061", 1, ""},
		{"209c000.gpio", 2, "regulators:regulator out lo"},
		{"209c000.gpio", 7, ""},
		{"gpio-sim.0", 3, "hog out hi"},
		{"gpio-sim.0", 1, ""},
		{"gpio-sim.1", 1, "boardhand out hi"},
		{"gpio-sim.1", 2, "boardhand in"},
		{"gpio-sim.1", 3, ""},
		{"elsewhere", 7, ""},
	} {
		if got, err := parseLineUse(text, c.parent, c.n); err != nil || got != c.want {
			t.Errorf("%s line %d: %q %v, want %q", c.parent, c.n, got, err, c.want)
		}
	}
}

func TestSessionPassesOverRubbishAndOldAnswers(t *testing.T) {
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &emulator{ctx: ctx}
	s := e.newSession(near)
	go func() {
		_, _ = far.Read(make([]byte, 1024))
		_, _ = io.WriteString(far, "X\xb2Q\n\x00\xff"+`{"jsonrpc":"2.0","method":"notifications/progress"}`+"\n"+
			`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":8,"result":{"a":5}}`+"\n")
	}()
	s.id = 7
	var got struct{ A int }
	if err := s.call("x", nil, &got); err != nil || got.A != 5 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestToolResults(t *testing.T) {
	text := func(s string) []struct{ Type, Text string } { return []struct{ Type, Text string }{{"text", s}} }
	var any struct{}
	for _, c := range []struct {
		name string
		r    toolResult
		want string // part of the error
	}{
		{"the same twice", toolResult{Content: text(`{}`), StructuredContent: []byte(`{}`)}, ""},
		{"two contents that differ", toolResult{Content: text(`{"a":1}`), StructuredContent: []byte(`{}`)}, "differs"},
		{"an error of the tool", toolResult{Content: text("no line"), IsError: true}, "no line"},
		{"nothing", toolResult{}, "0 parts"},
	} {
		err := c.r.decode(&any)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestReportCountsTestsOfTheGuest(t *testing.T) {
	r := &report{machine: "m"}
	for line := range strings.Lines(`=== RUN   TestKernelGPIO
=== RUN   TestKernelGPIO/an_alias
    gpio.go:93: this board has no such line
--- FAIL: TestKernelGPIO (1.78s)
    --- SKIP: TestKernelGPIO/an_alias (0.01s)
    --- FAIL: TestKernelGPIO/other (0.01s)
--- PASS: TestKernelI2C (0.00s)
PASS
`) {
		r.testLine(strings.TrimSuffix(line, "\n"))
	}
	if r.oks != 1 || r.fails != 2 || r.skipped != 1 || summary([]*report{r}) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestCacheDirCanBeSet(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BOARDHAND_BOARDS_CACHE", dir)
	if got, err := cacheDir(); err != nil || got != dir {
		t.Errorf("%q %v", got, err)
	}
	f := flavour{"rpi", "armel", bookworm}
	if debs, err := cached(dir, f); err != nil || debs != nil {
		t.Errorf("%q %v", debs, err)
	}
	for i, name := range []string{"linux-image-6.1.0-51-rpi_6.1.9-1_armel.deb", "linux-image-6.1.0-50-rpi_6.1.8-1_armel.deb"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1000-i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if debs, err := cached(dir, f); err != nil || len(debs) != 1 || filepath.Base(debs[0]) != "linux-image-6.1.0-51-rpi_6.1.9-1_armel.deb" {
		t.Errorf("%q %v", debs, err)
	}
}
