//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mirror is where Debian's packages come from, unless BOARDHAND_BOARDS_MIRROR
// names another.
const mirror = "http://deb.debian.org/debian"

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// flavour is one of Debian's kernels: "armmp" of architecture "armhf". All are of
// bookworm, whose main section has every one of them.
type flavour struct{ name, arch string }

// kernel is an unpacked kernel.
type kernel struct {
	image   string            // the file that QEMU boots
	trees   string            // the directory of its device trees
	modules map[string]string // file by name
}

// cacheDir is where kernels are kept between runs.
func cacheDir() (string, error) {
	if dir := os.Getenv("BOARDHAND_BOARDS_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w; or set BOARDHAND_BOARDS_CACHE to a directory for kernels", err)
	}
	return filepath.Join(dir, "boardhand-boards"), nil
}

// obtain gives the kernel f: unpacked before, or from a package in the cache, or
// downloaded. fresh asks the mirror for the newest even so.
func obtain(cache string, f flavour, fresh bool) (*kernel, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	deb, err := cached(cache, f)
	if err != nil {
		return nil, err
	}
	if deb == "" || fresh {
		if deb, err = download(cache, f); err != nil {
			return nil, fmt.Errorf("download of the kernel %s: %w; a package of it, linux-image-VERSION-%s_VERSION_%s.deb, may also be put into %s",
				f.name, err, f.name, f.arch, cache)
		}
	}
	dir := strings.TrimSuffix(deb, ".deb")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := unpack(deb, dir); err != nil {
			return nil, err
		}
	}
	return look(dir)
}

// cached is the newest package of f in the cache, or "".
func cached(cache string, f flavour) (string, error) {
	debs, err := filepath.Glob(filepath.Join(cache, "linux-image-*-"+f.name+"_*_"+f.arch+".deb"))
	if err != nil || len(debs) == 0 {
		return "", err
	}
	return slices.MaxFunc(debs, func(a, b string) int {
		one, err1 := os.Stat(a)
		other, err2 := os.Stat(b)
		if err1 != nil || err2 != nil {
			return cmp.Compare(a, b)
		}
		return one.ModTime().Compare(other.ModTime())
	}), nil
}

// download fetches the newest package of f with an apt state of its own, so that
// the system's stays as it is.
func download(cache string, f flavour) (string, error) {
	if err := installed("apt-get", "apt-cache"); err != nil {
		return "", err
	}
	if _, err := os.Stat(keyring); err != nil {
		return "", fmt.Errorf("%w; apt-get install debian-archive-keyring", err)
	}
	apt, err := newAptState(filepath.Join(cache, "apt", f.arch), f.arch)
	if err != nil {
		return "", err
	}
	fmt.Printf("downloading the kernel %s, 26 to 60 MB, into %s\n", f.name, cache)
	if _, err := apt.run(cache, "apt-get", "--quiet", "update"); err != nil {
		return "", err
	}
	// The package without a version only names the one that has the kernel.
	depends, err := apt.run(cache, "apt-cache", "depends", "linux-image-"+f.name)
	if err != nil {
		return "", err
	}
	_, name, ok := strings.Cut(depends, "Depends: ")
	if !ok {
		return "", fmt.Errorf("apt names no package that linux-image-%s depends on", f.name)
	}
	name, _, _ = strings.Cut(name, "\n")
	name = strings.TrimSpace(name)
	if _, err := apt.run(cache, "apt-get", "--quiet", "download", name); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(cache, name+"_*_"+f.arch+".deb"))
	if err != nil || len(debs) == 0 {
		return "", fmt.Errorf("apt left no package %s in %s", name, cache)
	}
	// apt leaves it with the mirror's time, and the newest in the cache is used.
	return debs[0], os.Chtimes(debs[0], time.Time{}, time.Now())
}

// aptState is a package system apart from the machine's own.
type aptState struct{ options []string }

func newAptState(dir, arch string) (*aptState, error) {
	for _, sub := range []string{"state", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	from := cmp.Or(os.Getenv("BOARDHAND_BOARDS_MIRROR"), mirror)
	sources := fmt.Sprintf("deb [signed-by=%s] %s bookworm main\n", keyring, from)
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	a := &aptState{}
	for _, o := range []string{
		"APT::Architecture=" + arch, "APT::Architectures::=" + arch,
		"Dir::State=" + filepath.Join(dir, "state"),
		"Dir::State::Lists=" + filepath.Join(dir, "lists"),
		"Dir::State::status=" + filepath.Join(dir, "status"),
		"Dir::Cache=" + filepath.Join(dir, "cache"),
		"Dir::Etc::SourceList=" + filepath.Join(dir, "sources.list"), "Dir::Etc::SourceParts=-",
		"APT::Update::Post-Invoke-Success::=", "APT::Sandbox::User=",
		"Acquire::Languages=none", "Acquire::Retries=3",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	} {
		a.options = append(a.options, "-o", o)
	}
	return a, nil
}

func (a *aptState) run(dir, program string, args ...string) (string, error) {
	c := exec.Command(program, append(slices.Clone(a.options), args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "LC_ALL=C") // download reads what it prints
	return output(c)
}

// output runs c and gives what it printed, or an error with what it complained of.
func output(c *exec.Cmd) (string, error) {
	var out, complaint strings.Builder
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(c.Path), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// unpack takes the kernel, its modules and its device trees out of a package.
func unpack(deb, dir string) error {
	fmt.Println("unpacking", filepath.Base(deb))
	part := dir + ".part" // renamed when complete
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	from := exec.Command("dpkg-deb", "--fsys-tarfile", deb)
	pipe, err := from.StdoutPipe()
	if err != nil {
		return err
	}
	if err := from.Start(); err != nil {
		return err
	}
	to := exec.Command("tar", "--extract", "--directory", part, "./boot", "./lib/modules", "./usr/lib")
	to.Stdin = pipe
	_, err = output(to)
	if err := errors.Join(err, from.Wait()); err != nil {
		return fmt.Errorf("unpacking %s: %w; if the file is broken, remove it", deb, err)
	}
	return os.Rename(part, dir)
}

// look finds the parts of an unpacked kernel.
func look(dir string) (*kernel, error) {
	images, err := filepath.Glob(filepath.Join(dir, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return nil, fmt.Errorf("%s has %d kernels, want 1; remove the directory", dir, len(images))
	}
	_, version, _ := strings.Cut(filepath.Base(images[0]), "-")
	modules, err := indexModules(filepath.Join(dir, "lib/modules", version))
	if err != nil {
		return nil, err
	}
	return &kernel{images[0], filepath.Join(dir, "usr/lib/linux-image-"+version), modules}, nil
}

// debian is the package that has a program, where it is not called the same.
var debian = map[string]string{
	"qemu-system-aarch64": "qemu-system-arm",
	"dtc":                 "device-tree-compiler",
	"fdtput":              "device-tree-compiler",
	"apt-get":             "apt",
	"apt-cache":           "apt",
	"dpkg-deb":            "dpkg",
	"go":                  "golang-go",
}

// installed says which programs are missing and how to get them.
func installed(programs ...string) error {
	var missing, packages []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
			if name := cmp.Or(debian[p], p); !slices.Contains(packages, name) {
				packages = append(packages, name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not installed: %s; apt-get install --no-install-recommends %s",
		strings.Join(missing, ", "), strings.Join(packages, " "))
}
