package bench

import (
	"fmt"
	"os"
	"os/exec"
)

// Version is what Build calls the program.
const Version = "0.1.0"

// Build makes the program for Linux as make board does and writes it to out. An
// empty arch is this machine's. It runs in any folder of the module.
func Build(out, arch string) error {
	cmd := exec.Command("go", "build", "-tags", "board", "-trimpath", "-ldflags", "-s -w -X main.version="+Version, "-o", out, "boardhand")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARM=6", "GOMIPS=softfloat")
	if arch != "" {
		cmd.Env = append(cmd.Env, "GOARCH="+arch)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
	}
	return nil
}
