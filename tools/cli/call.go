package cli

import (
	"io"
	"strconv"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// Call runs one tool: args are its name and "name=value" for each parameter. The
// result goes to stdout, as the tool's JSON where asJSON is set, else for a
// person. Progress is shown on stderr where that is a terminal.
func Call(b Board, args []string, asJSON, terminal bool, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return Fail(stderr, ExitUsage, `name a tool, as in "boardhand call board_info"; "boardhand tools" shows all`)
	}
	tools, err := b.tools()
	if err != nil {
		return Fail(stderr, ExitFailed, err.Error())
	}
	tool := find(tools, args[0])
	if tool == nil {
		return noTool(b, args[0], stderr)
	}
	request, err := appendCall(nil, tool, args[1:], b.version(), terminal)
	if err != nil {
		return Fail(stderr, ExitUsage, err.Error())
	}
	shown := false
	var progress func(*fastjson.Value)
	if terminal {
		progress = func(params *fastjson.Value) {
			shown = true
			_, _ = io.WriteString(stderr, "\r"+tool.Name+": "+progressText(params)+eraseToEnd)
		}
	}
	result, err := exchange(b, request, progress)
	if shown {
		_, _ = io.WriteString(stderr, "\r"+eraseToEnd)
	}
	switch {
	case err != nil:
		return Fail(stderr, ExitFailed, err.Error())
	case result.GetBool("isError"):
		return Fail(stderr, ExitFailed, string(result.GetStringBytes("content", "0", "text")))
	}
	content := result.Get("structuredContent")
	switch {
	case content == nil:
		return Fail(stderr, ExitFailed, "tool "+tool.Name+" gave no result")
	case asJSON:
		return emit(stdout, stderr, append(content.MarshalTo(nil), '\n'))
	}
	return emit(stdout, stderr, appendResult(nil, content))
}

// eraseToEnd clears the rest of a terminal's line (ECMA-48, EL).
const eraseToEnd = "\x1b[K"

func progressText(params *fastjson.Value) string {
	s := strconv.FormatFloat(params.GetFloat64("progress"), 'f', -1, 64)
	if total := params.GetFloat64("total"); total > 0 {
		s += " of " + strconv.FormatFloat(total, 'f', -1, 64)
	}
	if m := params.GetStringBytes("message"); len(m) > 0 {
		s += ", " + printable(string(m))
	}
	return s
}

func find(tools []rpc.Tool, name string) *rpc.Tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// noTool says that no tool is called name; or, where the rules of the board file let
// nobody call it, in which case no list shows it, which rule it is.
func noTool(b Board, name string, stderr io.Writer) int {
	request, _ := appendCall(nil, &rpc.Tool{Name: name}, nil, b.version(), false) // only arguments can be wrong
	if result, err := exchange(b, request, nil); err == nil && result.GetBool("isError") {
		return Fail(stderr, ExitFailed, string(result.GetStringBytes("content", "0", "text")))
	}
	return Fail(stderr, ExitUsage, "there is no tool "+strconv.Quote(name)+`; "boardhand tools" shows all`)
}

// appendCall appends the tools/call that args ask for.
func appendCall(dst []byte, tool *rpc.Tool, args []string, version string, wantProgress bool) ([]byte, error) {
	dst = openRequest(dst, "tools/call", version, wantProgress)
	dst = wire.AppendString(wire.AppendKey(dst, "name"), tool.Name)
	dst = append(wire.AppendKey(dst, "arguments"), '{')
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, &paramError{tool, strconv.Quote(arg) + " is no parameter, which is NAME=VALUE"}
		}
		p := param(tool, name)
		if p == nil {
			return nil, &paramError{tool, "there is no parameter " + strconv.Quote(name)}
		}
		dst = appendValue(wire.AppendKey(dst, p.Name), p.Type, value)
	}
	return closeRequest(append(dst, '}')), nil
}

func param(tool *rpc.Tool, name string) *rpc.Param {
	for i := range tool.Params {
		if tool.Params[i].Name == name {
			return &tool.Params[i]
		}
	}
	return nil
}

// paramError says what is wrong with a parameter on the command line, and what
// the tool takes.
type paramError struct {
	tool *rpc.Tool
	what string
}

func (e *paramError) Error() string {
	s := e.what + "; " + e.tool.Name + " takes "
	if len(e.tool.Params) == 0 {
		return s + "none"
	}
	for i := range e.tool.Params {
		if i > 0 {
			s += ", "
		}
		s += e.tool.Params[i].Name
	}
	return s + `, see "boardhand tools ` + e.tool.Name + `"`
}

// appendValue appends text as JSON of type t. What does not fit goes as a string,
// so that the server's check refuses it in its own words.
func appendValue(dst []byte, t rpc.Type, text string) []byte {
	switch t {
	case rpc.Strings:
		dst = append(dst, '[')
		for _, s := range strings.Split(text, ",") {
			dst = wire.AppendString(wire.AppendSep(dst), s)
		}
		return append(dst, ']')
	case rpc.Integer, rpc.Number:
		if isNumber(text) {
			return append(dst, text...)
		}
	case rpc.Boolean:
		if text == "true" || text == "false" {
			return append(dst, text...)
		}
	}
	return wire.AppendString(dst, text)
}

func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') &&
		wire.Scan([]byte(text), wire.DefaultLimits) == nil
}
