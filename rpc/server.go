// Package rpc is the server: it takes messages, finds out which revision of MCP
// each is in, checks it against one catalogue of tools, resources and prompts, and
// answers in that revision's shape. It knows no hardware and does no input or
// output of its own; package tools fills the catalogue, package frame cuts the
// stream into messages, and rpc/wire reads and writes the JSON.
//
// # Dialects
//
// A request says by itself which dialect it is in, so clients of both eras are
// served on one connection: _meta with a protocol version means MCP 2026-07-28,
// which keeps no state; initialize with a protocol version begins one of
// 2024-11-05, 2025-03-26, 2025-06-18 or 2025-11-25; initialize with
// clientCapabilities begins the Content-Length MCP 1.0 with its mcp/ methods.
// The lists of a dialect are rendered once, when it is first spoken.
//
// # One goroutine
//
// Framing, checks and all tools that answer at once run on the goroutine that
// called Serve, and allocate nothing. A tool that may wait names a queue, the bus
// it works: its calls run one after the other on that queue's worker, each with a
// deadline, while everything else is answered. Workers take the connection's turn
// to answer, so handlers need no locks of their own against each other.
package rpc

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/rpc/wire"
)

// Server answers requests from one catalogue. It holds what all connections
// share: the rendered lists of every dialect and the queues of the buses. It is
// safe for use by several connections at once.
type Server struct {
	cat    Catalogue
	limits Limits
	panics func(entry string, value any, stack []byte)

	// All there are; cat lacks those that are closed.
	tools     map[string]*Tool
	templates []Template
	prompts   map[string]*Prompt

	modern *dialect
	legacy []*dialect // oldest first
	v1     *dialect
	// handshake is the dialect of initialize, which opens the others.
	handshake *dialect

	mu     sync.Mutex
	queues map[string]*queue
	newest atomic.Pointer[Conn]

	questions questions
}

// Limits bound what one connection may ask for. A zero field means its default.
type Limits struct {
	Message int           // bytes of one message; DefaultMessage
	Depth   int           // nesting of JSON; wire.DefaultLimits
	Values  int           // JSON values in one message; wire.DefaultLimits
	Jobs    int           // calls that wait at one time; 64
	Batch   int           // requests in one batch; 64
	Page    int           // bytes of one page of a list; 16 KiB
	Timeout time.Duration // of a queued call whose tool names none; DefaultTimeout
	Consent time.Duration // that a person may take to confirm a call; DefaultConsent
	Result  int           // bytes of what a handler writes; no limit of its own
	// From says where the limits stand, for those who meet one: "board.toml:7".
	From string
}

// DefaultMessage is the longest message a connection takes, in bytes.
const DefaultMessage = 4 << 20

func (l *Limits) fill() {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.Message, DefaultMessage)
	def(&l.Depth, wire.DefaultLimits.Depth)
	def(&l.Values, wire.DefaultLimits.Values)
	def(&l.Jobs, 64)
	def(&l.Batch, 64)
	def(&l.Page, 16<<10)
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Consent <= 0 {
		l.Consent = DefaultConsent
	}
	if l.Result <= 0 {
		l.Result = math.MaxInt
	}
}

// NewServer serves a catalogue. panics is told of a
// handler that panicked, which the server survives; nil drops it.
func NewServer(cat Catalogue, limits Limits, panics func(entry string, value any, stack []byte)) *Server {
	limits.fill()
	if panics == nil {
		panics = func(string, any, []byte) {}
	}
	s := &Server{cat: cat, limits: limits, panics: panics, queues: map[string]*queue{}}
	s.tools = make(map[string]*Tool, len(cat.Tools))
	s.cat.Tools = nil
	for i := range cat.Tools {
		t := &cat.Tools[i]
		t.secret = slices.ContainsFunc(t.Params, func(p Param) bool { return p.Secret })
		s.tools[t.Name] = t
		if t.Closed == "" {
			s.cat.Tools = append(s.cat.Tools, *t)
		}
	}
	s.templates, s.cat.Templates = cat.Templates, nil
	for _, t := range cat.Templates {
		if t.Closed == "" {
			s.cat.Templates = append(s.cat.Templates, t)
		}
	}
	s.prompts = make(map[string]*Prompt, len(cat.Prompts))
	s.cat.Prompts = nil
	for i := range cat.Prompts {
		p := &cat.Prompts[i]
		s.prompts[p.Name] = p
		if p.Closed == "" {
			s.cat.Prompts = append(s.cat.Prompts, *p)
		}
	}
	s.modern = &dialect{shape: modernShape}
	for _, shape := range legacyShapes {
		s.legacy = append(s.legacy, &dialect{shape: shape})
	}
	s.v1 = &dialect{shape: v1Shape}
	s.handshake = &dialect{shape: shape{version: "2025-11-25 and older", methods: func([]byte) method { return initialize }}}
	return s
}

// Catalogue is what the server offers, without what is closed. It must not be
// changed.
func (s *Server) Catalogue() *Catalogue { return &s.cat }

// versions are the revisions of MCP that the shapes describe, newest first.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Versions are the revisions of MCP that the server speaks, newest first.
func Versions() []string { return slices.Clone(versions) }

var versionList = `"` + strings.Join(versions, `","`) + `"`
