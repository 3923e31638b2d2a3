//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// archive writes an initramfs: a cpio archive in the "newc" format of the
// kernel's Documentation/driver-api/early-userspace/buffer-format.rst. The first
// error ends it; close returns it.
type archive struct {
	w     io.Writer
	inode int
	err   error
}

// File types and modes, as in stat(2).
const (
	modeDir    = 0o040755
	modeFile   = 0o100755
	modeDevice = 0o020600 // a character device
)

func (a *archive) add(name string, mode int, data []byte, major, minor int) {
	a.inode++
	// inode, mode, uid, gid, links, mtime, size, device (2), rdev (2), length of the name, checksum
	fields := []int{a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name) + 1, 0}
	header := []byte("070701")
	for _, f := range fields {
		header = fmt.Appendf(header, "%08x", f)
	}
	header = append(append(header, name...), 0)
	a.write(padded(header))
	a.write(padded(data))
}

func (a *archive) write(b []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(b)
	}
}

// padded is b, filled up to a multiple of four bytes.
func padded(b []byte) []byte {
	return append(b[:len(b):len(b)], make([]byte, -len(b)&3)...)
}

func (a *archive) close() error {
	a.add("TRAILER!!!", 0, nil, 0, 0)
	return a.err
}

// writeInitramfs writes the compressed initramfs of a machine to path: files by
// their name in the guest, and the modules with all that they depend on.
func writeInitramfs(path string, files map[string]string, index map[string]string, modules []string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := &archive{w: z}
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "lib"} {
		a.add(dir, modeDir, nil, 0, 0)
	}
	// The kernel opens it for the first process before any file system is mounted.
	a.add("dev/console", modeDevice, nil, 5, 1)
	for name, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		a.add(name, modeFile, data, 0, 0)
	}
	l := loadList{archive: a, index: index, done: map[string]bool{}}
	for _, m := range modules {
		name, params, _ := strings.Cut(m, " ")
		if err := l.add(name, params); err != nil {
			return err
		}
	}
	a.add("modules", modeFile, []byte(strings.Join(l.lines, "\n")), 0, 0)
	if err := a.close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return out.Close()
}

// loadList collects modules in the order in which they can be loaded.
type loadList struct {
	archive *archive
	index   map[string]string // file by name of the module
	done    map[string]bool
	lines   []string
}

func (l *loadList) add(name, params string) error {
	name = moduleName(name)
	if l.done[name] {
		return nil
	}
	l.done[name] = true
	file, ok := l.index[name]
	if !ok {
		return fmt.Errorf("this kernel has no module %s; is it built in now? Then take it out of the machine's list", name)
	}
	image, err := readModule(file)
	if err != nil {
		return err
	}
	needs, err := dependencies(image)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, n := range needs {
		if err := l.add(n, ""); err != nil {
			return err
		}
	}
	l.archive.add("lib/"+name+".ko", modeFile, image, 0, 0)
	l.lines = append(l.lines, strings.TrimSpace("/lib/"+name+".ko "+params))
	return nil
}

// readModule is the module in a file, which may be compressed.
func readModule(file string) ([]byte, error) {
	if !strings.HasSuffix(file, ".xz") {
		return os.ReadFile(file)
	}
	text, err := output(exec.Command("xz", "--decompress", "--stdout", file))
	return []byte(text), err
}

// dependencies are the modules that a module names in its section .modinfo.
func dependencies(image []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, nil
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for entry := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := bytes.CutPrefix(entry, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(string(list), ","), nil
		}
	}
	return nil, nil
}

// moduleName is a module's name as the kernel has it; files write - for _.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// indexModules finds the modules below dir, compressed or not.
func indexModules(dir string) (map[string]string, error) {
	index := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(strings.TrimSuffix(d.Name(), ".xz"), ".ko"); ok && err == nil {
			index[moduleName(name)] = path
		}
		return err
	})
	return index, err
}
