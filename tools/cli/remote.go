package cli

import (
	"errors"
	"io"

	"boardhand/frame"
	"boardhand/rpc"

	"github.com/valyala/fastjson"
)

// Remote is a board that is spoken to over a connection of MCP. Its methods are for
// one goroutine.
type Remote struct {
	program string
	w       *frame.Writer
	r       *frame.Reader
	in      inbox
	listed  []rpc.Tool
}

// NewRemote speaks to a server that reads in and writes to out. version is this
// program's.
func NewRemote(in io.Writer, out io.Reader, version string) *Remote {
	return &Remote{program: version, w: frame.NewWriter(in), r: frame.NewReader(out, 0)}
}

func (r *Remote) version() string { return r.program }

func (r *Remote) ask(request []byte, progress func(params *fastjson.Value)) ([]byte, error) {
	r.in.answer, r.in.progress = nil, progress
	r.w.End(append(r.w.Begin(), request...), frame.Newline)
	if err := r.w.Flush(); err != nil {
		return nil, err
	}
	for r.in.answer == nil {
		msg, _, err := r.r.Next()
		if err == io.EOF {
			return nil, errors.New("the connection has ended without an answer")
		} else if err != nil {
			return nil, err
		}
		r.in.take(msg)
	}
	return r.in.answer, nil
}

// Ping asks the board for nothing, and returns when it has answered.
func (r *Remote) Ping() error {
	_, err := exchange(r, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), nil)
	return err
}

// tools are the board's as its list has them. That tells neither of what a result is
// made, nor that a string must be a number in hex: the board checks what it is given.
func (r *Remote) tools() ([]rpc.Tool, error) {
	if r.listed != nil {
		return r.listed, nil
	}
	tools := []rpc.Tool{}
	err := eachTool(r, func(item *fastjson.Value) { tools = append(tools, toolOf(item)) })
	if err != nil {
		return nil, err
	}
	r.listed = tools
	return tools, nil
}

// toolOf reads an entry of tools/list.
func toolOf(item *fastjson.Value) rpc.Tool {
	t := rpc.Tool{
		Name:        string(item.GetStringBytes("name")),
		Description: string(item.GetStringBytes("description")),
		Hints: rpc.Hints{
			ReadOnly:    item.GetBool("annotations", "readOnlyHint"),
			Destructive: item.GetBool("annotations", "destructiveHint"),
			Idempotent:  item.GetBool("annotations", "idempotentHint"),
		},
	}
	required := map[string]bool{}
	for _, name := range item.GetArray("inputSchema", "required") {
		required[string(name.GetStringBytes())] = true
	}
	item.GetObject("inputSchema", "properties").Visit(func(key []byte, v *fastjson.Value) {
		p := rpc.Param{
			Name:        string(key),
			Type:        typeOf(string(v.GetStringBytes("type"))),
			Description: string(v.GetStringBytes("description")),
			Required:    required[string(key)],
			Min:         v.GetInt64("minimum"),
			Max:         v.GetInt64("maximum"),
			MaxItems:    v.GetInt("maxItems"),
		}
		for _, choice := range v.GetArray("enum") {
			p.Choices = append(p.Choices, string(choice.GetStringBytes()))
		}
		t.Params = append(t.Params, p)
	})
	return t
}

func typeOf(schema string) rpc.Type {
	switch schema {
	case "integer":
		return rpc.Integer
	case "number":
		return rpc.Number
	case "boolean":
		return rpc.Boolean
	case "array":
		return rpc.Strings
	}
	return rpc.String
}
