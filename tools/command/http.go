//go:build !board

package command

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"boardhand/device/policy"
	"boardhand/device/policy/journal"
	"boardhand/frame"
	httpfront "boardhand/rpc/http"
	"boardhand/rpc/http/oauth"
	"boardhand/tools/cli"
)

// defaultHTTP is where a card says that the server is, when it is told no address.
const defaultHTTP = "127.0.0.1:8377"

// httpFlags are those of the HTTP front.
type httpFlags struct {
	addr      string // --http; "" is none
	cert, key string
	auth      bool
	insecure  bool
	url       string
	tokens    string
	grace     string // of connect; "": the program's own
}

// overHTTP runs a command of the HTTP front: serve and connect with --http, and those
// that only it has. ok is false of every other.
func overHTTP(cmd string, args []string, stdout, stderr io.Writer) (code int, ok bool) {
	if slices.ContainsFunc(args, isHelp) {
		return 0, false
	}
	switch cmd {
	case "serve", "connect", "card":
	case "tokens":
		return showTokens(args, stdout, stderr), true
	default:
		return 0, false
	}
	h, rest, err := parseHTTP(args)
	switch {
	case cmd == "card":
		return card(h, rest, err, stdout, stderr), true
	case h.addr == "" && err == nil && len(rest) == len(args):
		return 0, false
	case err == nil && h.addr == "":
		err = errors.New(`the flags of HTTP want --http ADDR, such as --http ` + defaultHTTP)
	}
	if err == nil {
		err = h.check()
	}
	f := cli.Flags{}
	if err == nil {
		f, err = cli.ParseFlags(cmd, rest)
	}
	if err == nil && h.grace != "" {
		err = h.checkGrace(cmd)
	}
	if err == nil && f.Serial != "" && cmd == "serve" {
		err = errors.New("--serial and --http are two places to serve at; start boardhand twice, or once with one of them")
	}
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error()), true
	}
	if cmd == "connect" {
		return connectHTTP(h, f, stderr), true
	}
	return serveHTTP(h, f, stderr), true
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// parseHTTP takes the flags of HTTP out of a command's arguments.
func parseHTTP(args []string) (h httpFlags, rest []string, err error) {
	texts := map[string]*string{"http": &h.addr, "tls-cert": &h.cert, "tls-key": &h.key, "url": &h.url, "tokens": &h.tokens, "grace": &h.grace}
	bools := map[string]*bool{"auth": &h.auth, "insecure": &h.insecure}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		name, value, given := strings.Cut(name, "=")
		switch {
		case args[i] == "--":
			return h, append(rest, args[i:]...), nil
		case isFlag && bools[name] != nil && !given:
			*bools[name] = true
		case isFlag && texts[name] != nil:
			if !given {
				if i++; i == len(args) {
					return h, rest, errors.New("--" + name + " wants a value")
				}
				value = args[i]
			}
			if value == "" {
				return h, rest, errors.New("--" + name + ` is ""`)
			}
			*texts[name] = value
		default:
			rest = append(rest, args[i])
		}
	}
	return h, rest, nil
}

// check says what the flags do not agree on.
func (h *httpFlags) check() error {
	host, _, err := net.SplitHostPort(h.addr)
	switch {
	case err != nil:
		return fmt.Errorf("--http is %q; it must be an address and a port, such as %s", h.addr, defaultHTTP)
	case (h.cert == "") != (h.key == ""):
		return errors.New("--tls-cert and --tls-key go together: a certificate and its key, both in PEM")
	case h.url != "" && !strings.HasPrefix(h.url, "http://") && !strings.HasPrefix(h.url, "https://"):
		return fmt.Errorf("--url is %q; it must be how clients reach the board, such as https://board.example", h.url)
	case !isLoopback(host) && !h.authorizes() && !h.insecure:
		return fmt.Errorf("--http %s is an address that others reach: add --auth, so that clients need your permission, or set BOARDHAND_TOKEN, or say --insecure", h.addr)
	}
	return nil
}

// checkGrace says what is wrong with how long a client may be silent.
func (h *httpFlags) checkGrace(cmd string) error {
	switch d, err := time.ParseDuration(h.grace); {
	case cmd != "connect":
		return errors.New(`--grace is of connect; here the board file says http_grace = "` + h.grace + `" in [outputs]`)
	case err != nil || d < policy.MinHTTPGrace:
		return fmt.Errorf("--grace is %q; it must be a time such as 60s, at least %v", h.grace, policy.MinHTTPGrace)
	}
	return nil
}

// authorizes says that clients need a token.
func (h *httpFlags) authorizes() bool { return h.auth || os.Getenv(tokenVariable) != "" }

// tokenVariable is the environment's name of a token that may do everything.
const tokenVariable = "BOARDHAND_TOKEN"

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// listen opens the address and what guards it.
func (h *httpFlags) listen(say func(string)) (net.Listener, *tls.Config, *oauth.Server, error) {
	var certificates *tls.Config
	if h.cert != "" {
		pair, err := tls.LoadX509KeyPair(h.cert, h.key)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		certificates = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	var auth *oauth.Server
	if h.authorizes() {
		path, err := h.tokensFile()
		if err != nil {
			return nil, nil, nil, err
		}
		store, err := oauth.OpenStore(path, say)
		if err != nil {
			return nil, nil, nil, err
		}
		name, _ := os.Hostname()
		auth, err = oauth.New(oauth.Config{Path: httpfront.Path, URL: h.url, Store: store, Bearer: os.Getenv(tokenVariable), Name: name, Say: say})
		if err != nil {
			return nil, nil, nil, err
		}
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		return nil, nil, nil, err
	}
	return l, certificates, auth, nil
}

// tokensFile is where the tokens are kept.
func (h *httpFlags) tokensFile() (string, error) {
	if h.tokens != "" {
		return h.tokens, nil
	}
	dir, err := journal.Folder()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the tokens; name a file by --tokens: %w", err)
	}
	return filepath.Join(dir, "tokens.json"), nil
}

// front is what the flags and a server's name make of the front's configuration.
func (h *httpFlags) front(f cli.Flags, auth *oauth.Server) httpfront.Config {
	c := httpfront.Config{Auth: auth, Message: f.MaxMessage, Values: f.MaxValues}
	if h.url != "" {
		_, host, _ := strings.Cut(h.url, "://")
		c.Hosts = []string{strings.TrimSuffix(host, "/")}
	}
	return c
}

// address is how a client on this machine reaches the server.
func (h *httpFlags) address() string {
	scheme := "http://"
	if h.cert != "" {
		scheme = "https://"
	}
	if h.url != "" {
		return strings.TrimSuffix(h.url, "/")
	}
	return scheme + h.addr
}

// cardText is what a server card says of boardhand, in a hundred bytes.
const cardText = "Hands on a small Linux board: GPIO, I2C, SPI, UART, CAN, PWM, LEDs, sensors"

// net/http keeps the runtime's memory profile alive, whose table is 1.4 MiB and which
// nobody reads.
func init() { runtime.MemProfileRate = 0 }

// sparing lets the garbage collector run at half as much more memory as is in use, unless
// the environment says otherwise: a request leaves some 3 KiB behind, and nearly none of
// it lives.
func sparing() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// manyBytes are worth a collection: some 1,500 requests leave them behind.
const manyBytes = 4 << 20

// giveBack gives the memory that requests needed back to the system, where they needed
// much since it did so last.
func giveBack() func() {
	var last uint64
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	return func() {
		metrics.Read(allocated)
		if now := allocated[0].Value.Uint64(); now-last >= manyBytes {
			runtime.GC() // what is pooled goes with the second
			debug.FreeOSMemory()
			last = now
		}
	}
}

// serve serves what c says to whoever connects to l until the process is told to stop;
// then atStop runs before any client is waited for.
func (h *httpFlags) serve(c httpfront.Config, l net.Listener, certificates *tls.Config, stop <-chan os.Signal, atStop func(), say func(string)) error {
	c.Card.Secret, c.Card.URL = c.Auth != nil, h.url
	c.Quiet = giveBack()
	front := httpfront.New(c)
	go func() {
		<-stop
		atStop()
		front.Close()
	}()
	h.addr = l.Addr().String()
	say("serving at " + h.address() + httpfront.Path)
	return front.Serve(l, certificates, say)
}

// serveHTTP serves over HTTP until the process is told to stop. All its clients have
// the board in common: its outputs are held while one of them is there.
func serveHTTP(h httpFlags, f cli.Flags, stderr io.Writer) int {
	sparing()
	stop, watching := watchSignals()
	<-watching
	log := newStderrLog(stderr)
	defer log.close()
	say := func(line string) { cli.Say(log, "boardhand", line) }
	l, certificates, auth, err := h.listen(say)
	if err != nil {
		return cli.Fail(log, cli.ExitUsage, err.Error())
	}
	s, err := open(f, true, log)
	if err != nil {
		_ = l.Close()
		return cli.Fail(log, cli.ExitUsage, err.Error())
	}
	defer s.close(log) // where it fails inside
	s.outputs.begin(true)
	if err := s.outputs.watch(func() bool { return answers(s.srv) }); err != nil {
		_ = l.Close()
		return cli.Fail(log, cli.ExitUsage, err.Error())
	}
	if s.info.Simulated {
		s.warnSimulated(log)
	}
	c := h.front(f, auth)
	c.Open = func(out httpfront.Sink) httpfront.Conn { return s.srv.NewConn(out) }
	c.Catalogue = s.srv.Catalogue()
	c.Card = httpfront.CardOf(c.Catalogue, cardText)
	if rules := s.outputs.rules; rules != nil {
		c.Grace = rules.Outputs.HTTPGrace
	}
	c.Unheard = func(gone string) {
		if gone == "" {
			s.outputs.resume()
		} else {
			s.outputs.pause(gone)
		}
	}
	err = h.serve(c, l, certificates, stop, func() {
		s.outputs.halt("the server is ending") // not after the client that reads slowest
	}, say)
	s.close(log)
	if err != nil {
		return cli.Fail(log, cli.ExitFailed, err.Error())
	}
	return cli.ExitOK
}

// card prints the server card.
func card(h httpFlags, rest []string, err error, stdout, stderr io.Writer) int {
	if h.addr == "" {
		h.addr = defaultHTTP
	}
	f := cli.Flags{}
	if err == nil {
		f, err = cli.ParseFlags("tools", rest)
	}
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	s, err := open(f, false, stderr)
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	defer s.close(stderr)
	c := httpfront.CardOf(s.srv.Catalogue(), cardText)
	c.Secret = h.authorizes()
	_, err = stdout.Write(append(c.Append(nil, h.address()), '\n'))
	if err != nil {
		return cli.Fail(stderr, cli.ExitFailed, err.Error())
	}
	return cli.ExitOK
}

// connectHTTP serves the board at the other end of a cable over HTTP.
func connectHTTP(h httpFlags, f cli.Flags, stderr io.Writer) int {
	sparing()
	stop, watching := watchSignals()
	<-watching
	log := newStderrLog(stderr)
	defer log.close()
	say := func(line string) { cli.Say(log, "boardhand", line) }
	l, certificates, auth, err := h.listen(say)
	if err != nil {
		return cli.Fail(log, cli.ExitUsage, err.Error())
	}
	board := plug(f, log)
	var running sync.WaitGroup
	defer running.Wait()
	defer board.close()
	in, toProxy := io.Pipe()
	fromProxy, out := io.Pipe()
	running.Go(func() { _ = board.proxy.Serve(in, out) })
	defer func() { _, _ = toProxy.Close(), fromProxy.Close() }()
	remote := httpfront.NewRemote(toProxy, frame.Newline, f.MaxValues)
	running.Go(func() { _ = remote.Run(fromProxy, f.MaxMessage) })

	c := h.front(f, auth)
	c.Open = remote.Open
	c.Grace, _ = time.ParseDuration(h.grace)
	c.Unheard = func(gone string) {
		if gone != "" {
			say(gone + "; what the board's clients have switched on ends")
			board.redial()
		}
	}
	c.Card = httpfront.Card{Name: "boardhand", Publisher: "boardhand", Description: cardText, Version: version}
	if err := h.serve(c, l, certificates, stop, func() {}, say); err != nil {
		return cli.Fail(log, cli.ExitFailed, err.Error())
	}
	return cli.ExitOK
}
