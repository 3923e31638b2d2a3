package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What each package may import besides the standard library: who may know whom.
// Only tools/command sees both the protocol and the real hardware, and only tools
// and what is below it both the protocol and what a board is.
var mayImport = map[string][]string{
	".":                          {"tools/command"},
	"tools/command":              {"device", "device/boardfile", "device/linux", "device/policy", "device/policy/journal", "device/sim", "frame", "frame/link", "frame/stdio", "frame/tty", "rpc", "rpc/http", "rpc/http/oauth", "rpc/line", "rpc/proxy", "tools", "tools/audit", "tools/cli", "tools/gate", "tools/own"},
	"frame":                      {},
	"frame/stdio":                {xsys, "unsafe"},
	"frame/tty":                  {xsys, serial, serial + "/enumerator", "unsafe"},
	"frame/link":                 {"frame/link/codec", msgp},
	"frame/link/codec":           {},
	"rpc":                        {"frame", "rpc/wire", fastjson},
	"rpc/http":                   {"frame", "rpc", "rpc/http/oauth", "rpc/wire"},
	"rpc/http/oauth":             {"rpc/wire", fastjson, xsys},
	"rpc/line":                   {"frame", "frame/link", "rpc", "rpc/wire"},
	"rpc/proxy":                  {"frame", "frame/link", "rpc/wire"},
	"rpc/wire":                   {},
	"tools":                      {"rpc", "rpc/wire", "device", "tools/modbus"},
	"tools/audit":                {},
	"tools/gate":                 {"device/policy", "rpc", "rpc/wire", "tools/audit"},
	"tools/modbus":               {},
	"tools/own":                  {"device", "device/policy", "device/program", "rpc", "rpc/wire"},
	"tools/cli":                  {"device", "frame", "frame/link", "frame/tty", "rpc", "rpc/wire", fastjson},
	"device":                     {},
	"device/boardfile":           {"device", "device/policy", "device/sim", toml},
	"device/contract":            {"device"},
	"device/linux":               {"device", "device/linux/internal/uapi", "frame/tty", xsys, serial},
	"device/linux/internal/uapi": {xsys, "unsafe"},
	"device/policy":              {"device", "tools/modbus"}, // a codec that knows nobody
	"device/policy/journal":      {},
	"device/program":             {},
	"device/sim":                 {"device"},
}

const (
	fastjson = "github.com/valyala/fastjson"
	msgp     = "github.com/tinylib/msgp/msgp"
	serial   = "go.bug.st/serial"
	toml     = "github.com/BurntSushi/toml"
	xsys     = "golang.org/x/sys/unix"
)

// What of the standard library no package imports: it is large, slow or runs
// other programs. Only the HTTP front may, which the program for a board lacks.
var tooMuch = []string{"net", "net/http", "crypto/tls", "text/template", "html/template", "os/exec", "encoding/json", "encoding/gob", "regexp", "log", "C"}

// These do no input or output of their own.
var pure = []string{"frame", "frame/link", "frame/link/codec", "rpc", "rpc/wire", "tools", "device", "device/sim", "tools/modbus"}

var inputOutput = []string{"os", "os/signal", "syscall", "net", "os/user"}

func TestImportsGoDownwardsOnly(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (file == "bench" || name == "testdata" || file != "." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		room := filepath.ToSlash(filepath.Dir(file))
		found[room] = true
		allowed, ok := mayImport[room]
		if !ok {
			t.Errorf("%s: no rule says what package %s may import; add it to this test and to the design", file, room)
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			name = strings.TrimPrefix(name, "boardhand/")
			first, _, _ := strings.Cut(name, "/")
			standard := !strings.HasPrefix(spec.Path.Value, `"boardhand/`) && !strings.Contains(first, ".") && name != "unsafe"
			switch {
			case slices.Contains(allowed, name):
			case !standard:
				t.Errorf("%s imports %s; package %s may import %s", file, name, room, strings.Join(append(allowed, "the standard library"), ", "))
			case slices.Contains(tooMuch, name) && isOfTheFront(file, parsed):
			case slices.Contains(tooMuch, name):
				t.Errorf("%s imports %s, which no package may", file, name)
			case slices.Contains(pure, room) && slices.Contains(inputOutput, name):
				t.Errorf("%s imports %s; package %s does no input or output", file, name, room)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range mayImport {
		if !found[room] {
			t.Errorf("package %s is gone; take its rule out of this test", room)
		}
	}
}

// isOfTheFront says whether a file is of the HTTP front, or joins it to the program
// where that is not for a board.
func isOfTheFront(file string, parsed *ast.File) bool {
	if strings.HasPrefix(filepath.ToSlash(file), "rpc/http/") {
		return true
	}
	return len(parsed.Comments) > 0 && parsed.Comments[0].List[0].Text == "//go:build !board"
}

// What the program for a board must not contain, by whatever way it would come in.
// (regexp comes in with go.bug.st/serial, a quarter of a megabyte.)
var unlinked = []string{"net", "net/http", "crypto/tls", "text/template", "html/template", "os/exec", "os/user", "encoding/gob", "testing", "log", "plugin", "runtime/cgo", "boardhand/rpc/http", "boardhand/rpc/http/oauth"}

func TestBoardBuildStaysSmall(t *testing.T) {
	t.Parallel()
	for _, target := range [][]string{{"GOARCH=arm", "GOARM=6"}, {"GOARCH=amd64"}, {"GOARCH=mipsle", "GOMIPS=softfloat"}} {
		cmd := exec.Command("go", "list", "-deps", "-tags", "board", ".")
		cmd.Env = append(os.Environ(), append(target, "GOOS=linux", "CGO_ENABLED=0")...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for _, name := range strings.Fields(string(out)) {
			if slices.Contains(unlinked, name) || strings.HasPrefix(name, "boardhand/bench") || name == "boardhand/device/contract" {
				t.Errorf("the program for %s contains %s; go list -deps shows who imports it", target[0], name)
			}
		}
	}
}
