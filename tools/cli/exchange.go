package cli

import (
	"bytes"
	"errors"

	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// Board is whom a command asks: Local or a Remote.
type Board interface {
	// tools are what it offers.
	tools() ([]rpc.Tool, error)
	// version is this program's.
	version() string
	// ask gives the answer to one request. progress, which may be nil, is told of each
	// progress notification's params until the answer is there.
	ask(request []byte, progress func(params *fastjson.Value)) (answer []byte, err error)
}

// Local is the board of this machine, or the simulated one. A request passes the same
// checks as one from a client.
func Local(srv *rpc.Server) Board { return local{srv} }

type local struct{ srv *rpc.Server }

func (l local) tools() ([]rpc.Tool, error) { return l.srv.Catalogue().Tools, nil }
func (l local) version() string            { return l.srv.Catalogue().Version }

func (l local) ask(request []byte, progress func(params *fastjson.Value)) ([]byte, error) {
	in := inbox{progress: progress}
	c := l.srv.NewConn(&in)
	defer c.Close()
	c.Handle(request, frame.Newline)
	c.Wait()
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return in.answer, nil
}

// exchange sends one request and gives the result that answers it.
func exchange(b Board, request []byte, progress func(params *fastjson.Value)) (*fastjson.Value, error) {
	answer, err := b.ask(request, progress)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, errors.New("the server gave no answer")
	}
	v, err := fastjson.ParseBytes(answer)
	if err != nil {
		return nil, errors.New("the server's answer is no JSON")
	}
	if e := v.Get("error"); e != nil {
		return nil, errors.New(string(e.GetStringBytes("message")))
	}
	return v.Get("result"), nil
}

// inbox is the client's end of a connection.
type inbox struct {
	answer   []byte
	progress func(params *fastjson.Value)
	parser   fastjson.Parser
}

// Write takes whole lines; rpc never writes at the same time from two goroutines.
func (in *inbox) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		in.take(line)
	}
	return len(p), nil
}

// take takes one message: the answer, or a notification on the way to it.
func (in *inbox) take(msg []byte) {
	v, err := in.parser.ParseBytes(msg)
	switch {
	case err != nil || !v.Exists("method"):
		in.answer = append([]byte(nil), msg...)
	case in.progress != nil && string(v.GetStringBytes("method")) == "notifications/progress":
		in.progress(v.Get("params"))
	}
}

// openRequest opens a request of the newest revision up to the members of its
// params, of which _meta is the first.
func openRequest(dst []byte, method, version string, wantProgress bool) []byte {
	dst = wire.AppendString(append(dst, `{"jsonrpc":"2.0","id":1,"method":`...), method)
	dst = append(dst, `,"params":{"_meta":{`...)
	dst = wire.AppendString(wire.AppendKey(dst, "io.modelcontextprotocol/protocolVersion"), rpc.Versions()[0])
	dst = append(wire.AppendKey(dst, "io.modelcontextprotocol/clientCapabilities"), "{}"...)
	if version != "" {
		dst = append(wire.AppendKey(dst, "io.modelcontextprotocol/clientInfo"), `{"name":"boardhand call","version":`...)
		dst = append(wire.AppendString(dst, version), '}')
	}
	if wantProgress {
		dst = append(wire.AppendKey(dst, "progressToken"), '1')
	}
	return append(dst, '}')
}

func closeRequest(dst []byte) []byte { return append(dst, "}}"...) }
