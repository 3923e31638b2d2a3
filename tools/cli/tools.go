package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// Tools shows the tools, or the one that args names with its parameters, its
// result and an example. Where asJSON is set it prints what a client gets from
// tools/list: the array, or the one tool's object.
func Tools(b Board, args []string, asJSON bool, stdout, stderr io.Writer) int {
	if len(args) > 1 {
		return Fail(stderr, ExitUsage, `name one tool, or none; see "boardhand tools -h"`)
	}
	tools, err := b.tools()
	if err != nil {
		return Fail(stderr, ExitFailed, err.Error())
	}
	var tool *rpc.Tool
	if len(args) == 1 {
		if tool = find(tools, args[0]); tool == nil {
			return noTool(b, args[0], stderr)
		}
	}
	if asJSON {
		out, err := toolsJSON(b, tool)
		if err != nil {
			return Fail(stderr, ExitFailed, err.Error())
		}
		return emit(stdout, stderr, append(out, '\n'))
	}
	if tool != nil {
		return emit(stdout, stderr, appendTool(nil, tool))
	}
	return emit(stdout, stderr, appendTools(nil, tools))
}

// toolsJSON asks for all pages of tools/list.
func toolsJSON(b Board, only *rpc.Tool) ([]byte, error) {
	out := []byte{'['}
	var one []byte
	err := eachTool(b, func(item *fastjson.Value) {
		if only == nil {
			out = item.MarshalTo(wire.AppendSep(out))
		} else if one == nil && string(item.GetStringBytes("name")) == only.Name {
			one = item.MarshalTo(nil)
		}
	})
	if one != nil {
		out = one
	} else {
		out = append(out, ']')
	}
	return out, err
}

// maxPages is how many pages a list may have: a board that names ever another one is
// not asked for ever.
const maxPages = 64

// eachTool visits the tools that a board lists, which are valid during the visit.
func eachTool(b Board, visit func(item *fastjson.Value)) error {
	cursor := ""
	for range maxPages {
		request := openRequest(nil, "tools/list", "", false)
		if cursor != "" {
			request = wire.AppendString(wire.AppendKey(request, "cursor"), cursor)
		}
		result, err := exchange(b, closeRequest(request), nil)
		if err != nil {
			return err
		}
		for _, item := range result.GetArray("tools") {
			visit(item)
		}
		next := result.Get("nextCursor")
		if next == nil || next.Type() != fastjson.TypeString {
			return nil
		}
		cursor = string(next.GetStringBytes())
	}
	return errors.New("the list of tools has more than " + strconv.Itoa(maxPages) + " pages")
}

func appendTools(dst []byte, tools []rpc.Tool) []byte {
	if len(tools) == 0 {
		return append(dst, "This board has no hardware that a tool could use.\n"...)
	}
	rows := make([][]string, len(tools))
	for i := range tools {
		mark := ""
		if !tools[i].Hints.ReadOnly {
			mark = "*"
		}
		rows[i] = []string{tools[i].Name, mark, firstSentence(tools[i].Description)}
	}
	dst = appendColumns(dst, rows)
	return append(dst, "\n* acts on the board, the others only read\n"+
		"\"boardhand tools NAME\" shows a tool's parameters and an example.\n"...)
}

// firstSentence cuts a text before the first full stop that a capital follows.
func firstSentence(s string) string {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' && s[i+2] >= 'A' && s[i+2] <= 'Z' {
			return s[:i]
		}
	}
	return strings.TrimSuffix(s, ".")
}

const textWidth = 78

func appendTool(dst []byte, t *rpc.Tool) []byte {
	dst = append(dst, t.Name...)
	if t.Title != "" {
		dst = append(append(dst, ": "...), t.Title...)
	}
	dst = append(dst, "\n\n"...)
	dst = appendWrapped(dst, strings.TrimSuffix(t.Description, ".")+". "+acts(t.Hints), textWidth)
	if len(t.Params) > 0 {
		rows := [][]string{{"PARAMETER", "TYPE", "REQUIRED", "ALLOWED", "DESCRIPTION"}}
		for i := range t.Params {
			p := &t.Params[i]
			required := "no"
			if p.Required {
				required = "yes"
			}
			rows = append(rows, []string{p.Name, typeNames[p.Type], required, allowed(p), p.Description})
		}
		dst = appendColumns(append(dst, '\n'), rows)
	}
	if len(t.Result) > 0 {
		rows := appendFields([][]string{{"RESULT", "TYPE", "ALWAYS", "DESCRIPTION"}}, "", t.Result)
		dst = appendColumns(append(dst, '\n'), rows)
	}
	dst = append(dst, "\nExample:\n  "...)
	return append(append(dst, example(t)...), '\n')
}

func acts(h rpc.Hints) string {
	if h.ReadOnly {
		return "It changes nothing on the board."
	}
	s := "It acts on the board"
	if h.Destructive {
		s += "; what it changes may not be undone by another call"
	}
	if h.Idempotent {
		s += "; the same call twice does no more than once"
	}
	return s + "."
}

var typeNames = [...]string{
	rpc.String:  "text",
	rpc.Strings: "list",
	rpc.Integer: "integer",
	rpc.Hex:     "hex",
	rpc.Number:  "number",
	rpc.Boolean: "boolean",
	rpc.Bytes:   "bytes",
	rpc.Object:  "object",
	rpc.Objects: "table",
}

// allowed says in a few words what a parameter takes.
func allowed(p *rpc.Param) string {
	bounded := p.Min != 0 || p.Max != 0
	between := func(unit string) string {
		if !bounded {
			return "any"
		}
		if p.Min == p.Max {
			return strconv.FormatInt(p.Min, 10) + unit
		}
		return strconv.FormatInt(p.Min, 10) + " to " + strconv.FormatInt(p.Max, 10) + unit
	}
	switch p.Type {
	case rpc.Boolean:
		return "true, false"
	case rpc.Integer, rpc.Number:
		return between("")
	case rpc.Hex:
		if bounded {
			return hex(p.Min) + " to " + hex(p.Max)
		}
		return "any"
	case rpc.Strings:
		if p.MaxItems > 0 {
			return "up to " + strconv.Itoa(p.MaxItems) + ", with commas"
		}
		return "with commas"
	case rpc.String:
		if len(p.Choices) > 0 {
			return strings.Join(p.Choices, ", ")
		}
	}
	return between(" bytes")
}

func hex(n int64) string {
	s := strconv.FormatInt(n, 16)
	if len(s) == 1 {
		s = "0" + s
	}
	return "0x" + s
}

// appendFields appends a row for each field, those of objects under
// "outer.inner" and those of tables under "outer[].inner".
func appendFields(rows [][]string, prefix string, fields []rpc.Field) [][]string {
	for i := range fields {
		f := &fields[i]
		always := "yes"
		if f.Optional {
			always = "no"
		}
		rows = append(rows, []string{prefix + f.Name, typeNames[f.Type], always, f.Description})
		switch f.Type {
		case rpc.Object:
			rows = appendFields(rows, prefix+f.Name+".", f.Fields)
		case rpc.Objects:
			rows = appendFields(rows, prefix+f.Name+"[].", f.Fields)
		}
	}
	return rows
}

// example is a command line that calls a tool with its required parameters.
func example(t *rpc.Tool) string {
	s := "boardhand call " + t.Name
	for i := range t.Params {
		if p := &t.Params[i]; p.Required {
			s += " " + shellWord(p.Name+"="+sample(p), false)
		}
	}
	return s
}

// sample is a value for a parameter: of texts, what its description quotes.
func sample(p *rpc.Param) string {
	fit := func(n int64) int64 {
		if p.Min == 0 && p.Max == 0 {
			return n
		}
		return min(max(n, p.Min), p.Max)
	}
	if len(p.Choices) > 0 {
		return p.Choices[0]
	}
	switch p.Type {
	case rpc.Integer, rpc.Number:
		return strconv.FormatInt(fit(1), 10)
	case rpc.Boolean:
		return "true"
	}
	if _, after, ok := strings.Cut(p.Description, `"`); ok {
		if word, _, ok := strings.Cut(after, `"`); ok && word != "" {
			return word
		}
	}
	switch p.Type {
	case rpc.Hex:
		return hex(fit(0x76))
	case rpc.Bytes:
		return strings.Repeat("00", int(min(fit(1), 8)))
	}
	return strings.ToUpper(p.Name)
}
