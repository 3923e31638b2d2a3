// Command server serves the items of the conformance suite: over HTTP, on standard
// input and output, or on a serial port, as boardhand does.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"

	"boardhand/bench/conformance/items"
	"boardhand/frame/link"
	"boardhand/frame/tty"
	"boardhand/rpc"
	httpfront "boardhand/rpc/http"
	"boardhand/rpc/line"
)

func main() {
	addr := flag.String("http", "", "the address to serve at, such as 127.0.0.1:0; without it standard input and output")
	port := flag.String("serial", "", "the serial port to serve on")
	flag.Parse()
	if err := serve(*addr, *port); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// baud is that of the serial port.
const baud = 921600

func serve(addr, port string) error {
	srv := rpc.NewServer(items.Catalogue(), rpc.Limits{Page: 1 << 20}, func(entry string, value any, stack []byte) {
		fmt.Fprintf(os.Stderr, "%s failed inside: %v\n%s", entry, value, stack)
	})
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	switch {
	case port != "":
		return line.New(line.Config{
			Open:  func() (link.Port, error) { return tty.Open(port, baud) },
			Serve: func() (*rpc.Server, func(), error) { return srv, func() {}, nil },
			Baud:  baud, Epoch: rand.Uint32() | 1, Program: "conformance", Name: "conformance", Max: rpc.DefaultMessage,
			Log: func(text string) { fmt.Fprintln(os.Stderr, text) },
		}).Run()
	case addr == "":
		return srv.Serve(os.Stdin, os.Stdout)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String() + httpfront.Path)
	return httpfront.New(httpfront.Config{
		Open:      func(out httpfront.Sink) httpfront.Conn { return srv.NewConn(out) },
		Catalogue: srv.Catalogue(),
		Card:      httpfront.CardOf(srv.Catalogue(), "The items of the conformance suite"),
	}).Serve(l, nil, func(line string) { fmt.Fprintln(os.Stderr, line) })
}
