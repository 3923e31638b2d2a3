// Command adapter puts HTTP before a server that speaks over standard input and
// output, so that what speaks only HTTP, as the official conformance suite does, can
// judge it:
//
//	go run ./bench/conformance/adapter -http 127.0.0.1:8378 -- boardhand serve --board sim
//
// HTTP's own side (sessions, streams, headers, status codes) is boardhand's front; what
// is said in the messages is the program's. The program gets them one a line, or with
// -header each behind a Content-Length. There is one process for all sessions: their
// requests are told apart by numbers in the place of their ids.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"boardhand/frame"
	"boardhand/rpc"
	httpfront "boardhand/rpc/http"
)

func main() {
	addr := flag.String("http", "127.0.0.1:0", "the `address` to serve at")
	header := flag.Bool("header", false, "send the program a Content-Length before each message")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "adapter: which program is it? adapter [flags] -- PROGRAM [ARGUMENT ...]")
		os.Exit(2)
	}
	if err := adapt(*addr, *header, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "adapter:", err)
		os.Exit(1)
	}
}

func adapt(addr string, header bool, argv []string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	mode := frame.Newline
	if header {
		mode = frame.Header
	}
	remote := httpfront.NewRemote(in, mode, 1<<20)
	front := httpfront.New(httpfront.Config{
		Open: remote.Open,
		Card: httpfront.Card{Name: "adapter", Publisher: "boardhand", Description: "A program behind an adapter", Version: "1.0.0"},
	})
	go func() {
		if err := remote.Run(out, rpc.DefaultMessage); err != io.EOF {
			fmt.Fprintln(os.Stderr, "adapter:", err)
		}
		front.Close()
	}()
	go func() { // whoever has started this ends it by closing its input
		_, _ = io.Copy(io.Discard, os.Stdin)
		front.Close()
	}()
	fmt.Println("http://" + l.Addr().String() + httpfront.Path)
	err = front.Serve(l, nil, func(line string) { fmt.Fprintln(os.Stderr, line) })
	_ = in.Close()
	_ = cmd.Wait()
	return err
}
