package clients

import (
	"fmt"
	"os/exec"
)

// npmInstall installs what dir's package-lock.json names; no package's scripts
// are run. npm ci would refuse the lock wherever a registry lacks an optional
// package that some other system needs.
func npmInstall(dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is not here (%w); install it (apt install npm, or nodejs.org), it brings the clients in JavaScript", err)
	}
	cmd := exec.Command(npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install in %s: %w\n%s", dir, err, out)
	}
	return nil
}
