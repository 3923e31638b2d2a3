//go:build linux

// Command boards boots Debian's kernels on emulated boards and tries boardhand on
// them, each machine once:
//
//   - the tests of device/linux that need a real kernel run as a program in the guest;
//   - boardhand itself, stripped as it is for boards, serves at an emulated serial
//     port. This side speaks plain newline JSON with it, moves the board's inputs and
//     watches its outputs from outside, and compares what boardhand says with what
//     the kernel shows of itself;
//   - then servers with a board file, by pipes in the guest: outputs go to their safe
//     levels however such a one ends, and a watchdog resets the machine of one that hangs;
//   - on the machine called cable, boardhand connect is at this side of the port, which
//     the kernel's console is on too, through a boot, a login prompt and a reboot; then
//     the README's lines of Python are.
//
// It prints a line for each check and ends with status 0 if none failed, 1 if one
// did, 2 if it could not run. Kernels are downloaded once into the user's cache
// directory, or BOARDHAND_BOARDS_CACHE. The guest's consoles are kept there too.
//
// At the end the memory and the first answer are held against the boards. lines of
// bench/budgets.txt, like any check. A machine that is optional and lacks its
// emulator or its kernel is left out, with a line that says why.
//
// A family of hardware is added by a file with its checks and by rows in the
// tables of machines.go. Hardware for those still to come is there, see kernelHas.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"boardhand/bench"
)

// version is what boardhand is built to say it is.
const version = "boards"

func main() {
	fresh := flag.Bool("update", false, "download the newest kernels even if some are cached")
	only := flag.String("machine", "", "boot only these, separated by commas")
	flag.Parse()
	// QEMU is to die with us, and Linux means the thread that started it.
	runtime.LockOSThread()
	failed, err := run(*only, *fresh)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "boards:", err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

func run(only string, fresh bool) (failed int, err error) {
	chosen, err := choose(only)
	if err != nil {
		return 0, err
	}
	budgets, err := bench.Budgets()
	if err != nil {
		return 0, err
	}
	cache, err := cacheDir()
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "boards-build")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	var reports []*report
	for _, m := range chosen {
		r := &report{machine: m.name}
		reports = append(reports, r)
		k, err := prepare(m, cache, fresh)
		if err != nil && m.optional {
			r.leftOut(err)
			continue
		}
		if err != nil {
			return 0, err
		}
		log, err := os.Create(filepath.Join(cache, m.name+".log"))
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := try(m, k, work, log, r); err != nil {
			r.failed(err, "the machine")
			fmt.Println("        the console is in", log.Name())
		}
		r.budgets(budgets)
		r.took = time.Since(began)
		log.Close()
	}
	return summary(reports), nil
}

// prepare sees to all that a machine needs before it can be booted.
func prepare(m *machine, cache string, fresh bool) (*kernel, error) {
	programs := []string{"go", "dpkg-deb", "tar", m.qemu[0]}
	if m.tree != noTree {
		programs = append(programs, "dtc", "fdtput")
	}
	if m.kernel.release == backports {
		programs = append(programs, "xz")
	}
	if err := installed(programs...); err != nil {
		return nil, err
	}
	return obtain(cache, m.kernel, fresh)
}

func choose(only string) ([]*machine, error) {
	var chosen []*machine
	var names []string
	for i := range machines {
		names = append(names, machines[i].name)
		if only == "" || slices.Contains(strings.Split(only, ","), machines[i].name) {
			chosen = append(chosen, &machines[i])
		}
	}
	if only != "" && len(chosen) != len(strings.Split(only, ",")) {
		return nil, fmt.Errorf("-machine=%s: the machines are %s", only, strings.Join(names, ", "))
	}
	return chosen, nil
}

// try boots a machine and finds out all that its table says. The error is of what
// ended it early; failed checks are in the report.
func try(m *machine, k *kernel, work string, log *os.File, r *report) error {
	files, err := build(m, work)
	if err != nil {
		return err
	}
	if m.cable { // before the kernel boots, which is to be seen
		if err := bench.Build(filepath.Join(work, laptopName), ""); err != nil {
			return err
		}
	}
	initramfs := filepath.Join(work, m.name+".cpio.gz")
	if err := writeInitramfs(initramfs, files, k.modules, m.modules); err != nil {
		return err
	}
	args := append(slices.Clone(m.qemu), "-kernel", k.image, "-initrd", initramfs, "-append", "loglevel=3 panic=-1 "+m.append)
	if m.tree != noTree {
		tree := filepath.Join(work, m.name+".dtb")
		if err := makeTree(m, k, tree); err != nil {
			return err
		}
		args = append(args, "-dtb", tree)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), m.limit, fmt.Errorf("not done after %v", m.limit))
	defer cancel()
	began := time.Now()
	e, err := start(ctx, log, args)
	if err != nil {
		return err
	}
	defer e.end()
	if m.cable {
		return overCable(m, e, work, began, r)
	}
	if err := e.booted(); err != nil {
		return err
	}
	r.boot = time.Since(began)
	b, err := connect(m, e)
	if err != nil {
		return err
	}
	for _, command := range m.setup {
		if _, err := e.do(nil, command...); err != nil {
			return err
		}
	}
	if err := b.test(r); err != nil {
		return err
	}
	return b.serve(r)
}

// test runs the tests of device/linux in the guest.
func (b *board) test(r *report) error {
	stop := make(chan struct{})
	defer close(stop)
	if b.machine.moving != (pin{}) {
		if err := b.move(stop); err != nil {
			return err
		}
	}
	command := []string{"run", "BOARDHAND_KERNEL=" + b.machine.tests, "/linux.test", "-test.v", "-test.run=Kernel",
		fmt.Sprintf("-test.timeout=%v", b.machine.limit)}
	if b.machine.skip != "" {
		command = append(command, "-test.skip="+b.machine.skip)
	}
	before := r.checks()
	_, err := b.guest.do(r.testLine, command...)
	if err != nil && b.guest.ctx.Err() != nil {
		return err
	}
	if err != nil && r.fails == 0 || r.checks() == before {
		r.failed(errors.Join(err, errors.New("the tests did not run to their end")), "kernel")
	}
	return nil
}

// serve starts boardhand at the serial port and goes through the checks.
func (b *board) serve(r *report) error {
	var began time.Time
	see := func(line string) {
		if line == "boards: serving" {
			began = time.Now()
		}
	}
	if _, err := b.guest.do(see, "serve", b.machine.port, "/boardhand", "serve", "--board", "linux"); err != nil {
		return err
	}
	for _, c := range slices.Concat([]check{initialize(version)}, b.machine.checks, []check{peak(r), givenBack}, b.machine.rig.checks()) {
		err := c.do(b)
		if r.first == 0 {
			r.first = time.Since(began)
		}
		r.add(err, "serve", c.name)
		if b.guest.ctx.Err() != nil {
			return context.Cause(b.guest.ctx)
		}
	}
	if b.machine.rig.watchdog {
		r.add(b.machine.rig.reset(b), "serve", "the watchdog resets a machine whose server hangs")
	}
	return nil
}

// peak puts the most memory that boardhand has had resident into the report.
func peak(r *report) check {
	return check{"it still runs", func(b *board) error {
		text, err := b.guest.do(nil, "peak")
		r.peak = text
		return err
	}}
}

// build builds the programs of a machine, static and stripped, and gives the files
// by their names in the guest.
func build(m *machine, work string) (map[string]string, error) {
	files := map[string]string{}
	for _, p := range []struct {
		name string
		args []string
	}{
		{"init", []string{"build", "-ldflags=-s -w", "boardhand/bench/boards/guest"}},
		{"boardhand", []string{"build", "-tags=board", "-ldflags=-s -w -X main.version=" + version, "boardhand"}},
		{"linux.test", []string{"test", "-c", "-ldflags=-s -w", "boardhand/device/linux"}},
	} {
		if p.name == "linux.test" && m.tests == "" {
			continue
		}
		file := filepath.Join(work, p.name+"-"+m.goarch)
		files[p.name] = file
		if _, err := os.Stat(file); err == nil {
			continue // another machine has the same processor
		}
		last := len(p.args) - 1
		c := exec.Command("go", slices.Concat(p.args[:last], []string{"-trimpath", "-o", file}, p.args[last:])...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+m.goarch, "GOARM=6")
		if _, err := output(c); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// makeTree writes the device tree of a machine to path.
func makeTree(m *machine, k *kernel, path string) error {
	if m.tree == "" {
		// The sockets that the arguments name are not made for this.
		args := slices.Concat(m.qemu[1:7], []string{"-machine", "dumpdtb=" + path, "-nodefaults", "-display", "none"})
		if _, err := output(exec.Command(m.qemu[0], args...)); err != nil {
			return err
		}
	} else {
		stock, err := os.ReadFile(filepath.Join(k.trees, m.tree))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, stock, 0o644); err != nil {
			return err
		}
	}
	return editTree(path, m.edits, m.nodes)
}
