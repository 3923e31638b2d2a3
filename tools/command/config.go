package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"boardhand/device"
	"boardhand/device/boardfile"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/tools"
	"boardhand/tools/cli"
	"boardhand/tools/gate"
	"boardhand/tools/own"
)

// systemConfig is the board file of the whole machine.
const systemConfig = "/etc/boardhand.toml"

// readConfig reads the board file at path, or where that is empty the machine's,
// or the user's; where there is none it is empty and has no rules. A file that is
// there and cannot be read, or is wrong, is an error: nothing would be closed that
// it closes.
func readConfig(path string) (*boardfile.File, error) {
	paths := []string{path}
	if path == "" {
		paths = []string{systemConfig}
		if home, err := os.UserHomeDir(); err == nil {
			paths = append(paths, filepath.Join(home, ".config", "boardhand", "board.toml"))
		}
	}
	for _, p := range paths {
		text, err := readBounded(p)
		switch {
		case path == "" && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("the board file: %w", err)
		}
		return boardfile.Parse(p, text)
	}
	return &boardfile.File{}, nil
}

// readBounded is the text of a board file, or one byte more than the longest.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, boardfile.MaxSize+1))
}

// check says what is wrong with a board file, and what of it the board lacks.
func check(f cli.Flags, stdout, stderr io.Writer) int {
	path := f.Config
	if len(f.Args) > 0 {
		path = f.Args[0]
	}
	file, err := readConfig(path)
	switch {
	case err != nil:
		return cli.Fail(stderr, cli.ExitFailed, err.Error())
	case file.Rules == nil && !file.Given:
		return cli.Fail(stderr, cli.ExitUsage, "there is no board file; name one, or write one with: boardhand init "+systemConfig)
	case file.Rules == nil:
		_, _ = fmt.Fprintln(stdout, "The file has a [sim] table only: it opens and closes nothing.")
		return cli.ExitOK
	}
	if err := gate.CheckNames(file.Rules, tools.Names); err != nil {
		return cli.Fail(stderr, cli.ExitFailed, err.Error())
	}
	board, err := pick(f.Board, file.Sim)
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	defer board.Close()
	for _, missing := range policy.Missing(board, file.Rules) {
		_, _ = fmt.Fprintln(stderr, "boardhand: "+missing)
	}
	for _, left := range ownTools(board, file.Rules) {
		_, _ = fmt.Fprintln(stderr, "boardhand: "+left.Error())
	}
	_, _ = fmt.Fprintln(stdout, file.Rules.File+" is well. "+file.Rules.Summary())
	return cli.ExitOK
}

// ownTools gives those of the file's own tools that this board leaves out.
func ownTools(board device.Board, rules *policy.Rules) []error {
	shown, err := policy.Wrap(board, rules, nil)
	if err != nil {
		return []error{err}
	}
	cat, guard := tools.Catalogue(shown, version, nil)
	defer guard.Close()
	return own.Add(&cat, shown, rules, tools.Names)
}

// initialise writes a board file for this board, to standard output or to a new file.
func initialise(f cli.Flags, stdout, stderr io.Writer) int {
	board, err := pick(f.Board, sim.Wiring{})
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	defer board.Close()
	text := boardfile.Append(nil, board)
	if len(f.Args) == 0 {
		if _, err := stdout.Write(text); err != nil {
			return cli.Fail(stderr, cli.ExitFailed, "the output could not be written: "+err.Error())
		}
		return cli.ExitOK
	}
	out, err := os.OpenFile(f.Args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return cli.Fail(stderr, cli.ExitFailed, f.Args[0]+" is there already; move it away first, or write to standard output: boardhand init")
	}
	if err == nil {
		_, err = out.Write(text)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return cli.Fail(stderr, cli.ExitFailed, "the board file could not be written: "+err.Error())
	}
	_, _ = fmt.Fprintln(stderr, "boardhand: wrote "+f.Args[0]+"; it opens nothing yet: take the # away from what you want to open, then: boardhand check "+f.Args[0])
	return cli.ExitOK
}
