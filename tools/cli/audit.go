package cli

import (
	"io"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"boardhand/rpc/wire"
)

// Audit shows the last records of an audit log, all where last is 0, which read
// gives line by line, the oldest first: to a machine as they are, else as a table.
func Audit(read func(each func(line []byte) error) error, last int, asJSON bool, stdout, stderr io.Writer) int {
	var lines [][]byte
	err := read(func(line []byte) error {
		lines = append(lines, append([]byte(nil), line...))
		if last > 0 && len(lines) >= 2*last {
			lines = lines[:copy(lines, lines[len(lines)-last:])]
		}
		return nil
	})
	if err != nil {
		return Fail(stderr, ExitFailed, "the audit log cannot be read: "+err.Error())
	}
	if last > 0 && len(lines) > last {
		lines = lines[len(lines)-last:]
	}
	var out []byte
	if asJSON {
		for _, line := range lines {
			out = append(append(out, line...), '\n')
		}
		return emit(stdout, stderr, out)
	}
	rows := [][]string{{"TIME", "CLIENT", "CALL", "DECISION", "OUTCOME", "MS", "RESULT"}}
	broken := 0
	for _, line := range lines {
		row, err := auditRow(line)
		if err != nil {
			broken++
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		rows = nil
		out = append(out, "No call was written down.\n"...)
	}
	status := emit(stdout, stderr, appendColumns(out, rows))
	if broken > 0 && status == ExitOK {
		return Fail(stderr, ExitFailed, strconv.Itoa(broken)+" lines are no records: cut off by a power failure, or not boardhand's")
	}
	return status
}

// auditRow is one record as a row of the table.
func auditRow(line []byte) ([]string, error) {
	if err := wire.Scan(line, wire.DefaultLimits); err != nil {
		return nil, err
	}
	v, err := fastjson.ParseBytes(line)
	if err != nil {
		return nil, err
	}
	str := func(key string) string { return printable(string(v.GetStringBytes(key))) }
	when, err := time.Parse(time.RFC3339Nano, str("time"))
	if err != nil {
		return nil, err
	}
	call := str("tool")
	if args := v.Get("args"); args != nil && args.Type() == fastjson.TypeObject {
		flatten("", args, func(name string, v *fastjson.Value) { call += " " + name + "=" + text(v) })
	} else if args != nil {
		call += " " + text(args)
	}
	result := str("error")
	if r := v.Get("result"); r != nil {
		result = printable(string(r.MarshalTo(nil)))
	}
	if n := v.GetInt64("dropped"); n > 0 {
		result += " (" + strconv.FormatInt(n, 10) + " calls before this are missing)"
	}
	ms := "-"
	if m := v.Get("ms"); m != nil {
		ms = text(m)
	}
	return []string{when.Local().Format("2006-01-02 15:04:05.000"), str("client"), call, str("decision"), str("outcome"), ms, result}, nil
}
