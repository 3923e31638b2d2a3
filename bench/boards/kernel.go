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

// flavour is one of Debian's kernels: "armmp" of architecture "armhf".
type flavour struct {
	name, arch string
	release    *release
}

// release is one of Debian's and how its kernels come. Where things are in the
// packages is a pattern, as the version is not known.
type release struct {
	suite    string
	packages []string // what their names begin with; the first has the kernel
	image    string   // the kernel
	modules  string   // the directory of its modules
	trees    string   // the directory of its device trees; empty: none are used
}

var (
	// bookworm has every flavour in its main section.
	bookworm = &release{"bookworm", []string{"linux-image-"}, "boot/vmlinuz-*", "lib/modules/*", "usr/lib/linux-image-*"}
	// backports has newer kernels, which have gpio-sim.
	backports = &release{"trixie-backports", []string{"linux-binary-", "linux-modules-"}, "usr/lib/modules/*/vmlinuz", "usr/lib/modules/*", ""}
)

// kernel is an unpacked kernel.
type kernel struct {
	image   string            // the file that QEMU boots
	trees   string            // the directory of its device trees, if it has any
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
	debs, err := cached(cache, f)
	if err != nil {
		return nil, err
	}
	if debs == nil || fresh {
		if debs, err = download(cache, f); err != nil {
			var files []string
			for _, p := range f.release.packages {
				files = append(files, p+"VERSION-"+f.name+"_VERSION_"+f.arch+".deb")
			}
			return nil, fmt.Errorf("download of the kernel %s: %w; %s may also be put into %s",
				f.name, err, strings.Join(files, " and "), cache)
		}
	}
	dir := strings.TrimSuffix(debs[0], ".deb")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := unpack(debs, dir); err != nil {
			return nil, err
		}
	}
	return look(dir, f.release)
}

// cached is the newest packages of f in the cache that are all there, or nil.
func cached(cache string, f flavour) ([]string, error) {
	debs, err := filepath.Glob(filepath.Join(cache, f.release.packages[0]+"*-"+f.name+"_*_"+f.arch+".deb"))
	if err != nil {
		return nil, err
	}
	var newest []string
	var when time.Time
	for _, deb := range debs {
		all := []string{deb}
		for _, p := range f.release.packages[1:] {
			other := filepath.Join(cache, p+strings.TrimPrefix(filepath.Base(deb), f.release.packages[0]))
			if _, err := os.Stat(other); err == nil {
				all = append(all, other)
			}
		}
		info, err := os.Stat(deb)
		if err == nil && len(all) == len(f.release.packages) && (newest == nil || info.ModTime().After(when)) {
			newest, when = all, info.ModTime()
		}
	}
	return newest, nil
}

// download fetches the newest packages of f with an apt state of its own, so that
// the system's stays as it is.
func download(cache string, f flavour) ([]string, error) {
	if err := installed("apt-get", "apt-cache"); err != nil {
		return nil, err
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, fmt.Errorf("%w; apt-get install debian-archive-keyring", err)
	}
	apt, err := newAptState(filepath.Join(cache, "apt", f.release.suite, f.arch), f)
	if err != nil {
		return nil, err
	}
	fmt.Printf("downloading the kernel %s of %s, 26 to 120 MB, into %s\n", f.name, f.release.suite, cache)
	if _, err := apt.run(cache, "apt-get", "--quiet", "update"); err != nil {
		return nil, err
	}
	// The package without a version only names the one that has the kernel.
	depends, err := apt.run(cache, "apt-cache", "depends", "linux-image-"+f.name)
	if err != nil {
		return nil, err
	}
	_, name, ok := strings.Cut(depends, "Depends: linux-image-")
	if !ok {
		return nil, fmt.Errorf("apt names no package that linux-image-%s depends on", f.name)
	}
	name, _, _ = strings.Cut(name, "\n")
	for _, p := range f.release.packages {
		p += strings.TrimSpace(name)
		if _, err := apt.run(cache, "apt-get", "--quiet", "download", p); err != nil {
			return nil, err
		}
		debs, err := filepath.Glob(filepath.Join(cache, p+"_*_"+f.arch+".deb"))
		if err != nil || len(debs) == 0 {
			return nil, fmt.Errorf("apt left no package %s in %s", p, cache)
		}
		for _, deb := range debs {
			// apt leaves it with the mirror's time, and the newest in the cache is used.
			if err := os.Chtimes(deb, time.Time{}, time.Now()); err != nil {
				return nil, err
			}
		}
	}
	return cached(cache, f)
}

// aptState is a package system apart from the machine's own.
type aptState struct{ options []string }

func newAptState(dir string, f flavour) (*aptState, error) {
	for _, sub := range []string{"state", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	from := cmp.Or(os.Getenv("BOARDHAND_BOARDS_MIRROR"), mirror)
	sources := fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, from, f.release.suite)
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	a := &aptState{}
	for _, o := range []string{
		"APT::Architecture=" + f.arch, "APT::Architectures::=" + f.arch,
		"Dir::State=" + filepath.Join(dir, "state"),
		"Dir::State::Lists=" + filepath.Join(dir, "lists"),
		"Dir::State::status=" + filepath.Join(dir, "status"),
		"Dir::Cache=" + filepath.Join(dir, "cache"),
		"Dir::Etc::SourceList=" + filepath.Join(dir, "sources.list"), "Dir::Etc::SourceParts=-",
		"APT::Update::Post-Invoke-Success::=", "APT::Update::Error-Mode=any", "APT::Sandbox::User=",
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

// unpack takes the kernel, its modules and its device trees out of its packages.
func unpack(debs []string, dir string) error {
	part := dir + ".part" // renamed when complete
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	for _, deb := range debs {
		fmt.Println("unpacking", filepath.Base(deb))
		from := exec.Command("dpkg-deb", "--fsys-tarfile", deb)
		pipe, err := from.StdoutPipe()
		if err != nil {
			return err
		}
		if err := from.Start(); err != nil {
			return err
		}
		to := exec.Command("tar", "--extract", "--directory", part, "--exclude=./usr/share")
		to.Stdin = pipe
		_, err = output(to)
		if err := errors.Join(err, from.Wait()); err != nil {
			return fmt.Errorf("unpacking %s: %w; if the file is broken, remove it", deb, err)
		}
	}
	return os.Rename(part, dir)
}

// look finds the parts of an unpacked kernel.
func look(dir string, r *release) (*kernel, error) {
	images, err := filepath.Glob(filepath.Join(dir, r.image))
	if err != nil || len(images) != 1 {
		return nil, fmt.Errorf("%s has %d kernels, want 1; remove the directory", dir, len(images))
	}
	k := &kernel{image: images[0]}
	folders, err := filepath.Glob(filepath.Join(dir, r.modules))
	if err != nil || len(folders) != 1 {
		return nil, fmt.Errorf("%s has the modules of %d kernels, want 1; remove the directory", dir, len(folders))
	}
	if k.modules, err = indexModules(folders[0]); err != nil {
		return nil, err
	}
	if trees, err := filepath.Glob(filepath.Join(dir, r.trees)); err == nil && r.trees != "" && len(trees) == 1 {
		k.trees = trees[0]
	}
	return k, nil
}

// debian is the package that has a program, where it is not called the same.
var debian = map[string]string{
	"qemu-system-aarch64": "qemu-system-arm",
	"qemu-system-x86_64":  "qemu-system-x86",
	"xz":                  "xz-utils",
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
