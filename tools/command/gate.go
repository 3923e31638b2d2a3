package command

import (
	"fmt"
	"io"
	"os"

	"boardhand/device/policy"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/audit"
	"boardhand/tools/cli"
	"boardhand/tools/gate"
)

// guardCalls puts the rules of a board file on the tools of its board, and gives
// the limits of a connection and the audit log, which is nil where there is none.
// Without rules every call passes. acts says that tools will be called.
func guardCalls(cat *rpc.Catalogue, board *policy.Board, rules *policy.Rules, acts bool, tell func(error)) (limits rpc.Limits, log *audit.Log, err error) {
	if rules == nil {
		return limits, nil, nil
	}
	if acts && rules.Audit.File != "" {
		log, err = audit.Open(rules.Audit.File, audit.Options{MaxBytes: rules.Audit.MaxSize, Keep: rules.Audit.Keep}, tell)
		if err != nil {
			return limits, nil, fmt.Errorf("%s: %w", rules.File, err)
		}
	}
	if err := gate.Install(cat, board, rules, tools.Names, log); err != nil {
		return limits, nil, err
	}
	return rpc.Limits{Jobs: rules.Limits.Jobs, Result: rules.Limits.ResultBytes, Consent: rules.Consent.Expires,
		From: gate.Place(rules, rules.Limits.At)}, log, nil
}

// showAudit shows the audit log that the flags or the board file name.
func showAudit(f cli.Flags, stdout, stderr io.Writer) int {
	name := word(f.Args)
	if name == "" {
		file, err := readConfig(f.Config)
		if err != nil {
			return cli.Fail(stderr, cli.ExitUsage, err.Error())
		}
		if file.Rules != nil {
			name = file.Rules.Audit.File
		}
	}
	if name == "" {
		return cli.Fail(stderr, cli.ExitUsage, `no audit log is written: a board file names one as file = "/var/log/boardhand/audit.jsonl" in [audit]; or name a log, as in "boardhand audit FILE"`)
	}
	if _, err := os.Stat(name); err != nil {
		return cli.Fail(stderr, cli.ExitFailed, "the audit log: "+err.Error())
	}
	return cli.Audit(func(each func(line []byte) error) error { return audit.Read(name, each) }, f.Last, f.JSON, stdout, stderr)
}
