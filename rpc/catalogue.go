package rpc

import (
	"errors"
	"time"
)

// Catalogue is what a server offers. It knows no hardware: package tools fills
// it. It must not change once it was given to NewServer.
type Catalogue struct {
	Name         string // of the server, for machines: "boardhand"
	Title        string // for people
	Version      string
	Instructions string // guidance for the model, a few sentences
	Tools        []Tool
	Resources    []Resource
	Templates    []Template
	Prompts      []Prompt
	// Gate makes the gate of each connection; nil: every call passes.
	Gate func() Gate
	// Methods are served beside those of the revisions, by their names; Capabilities
	// are the members of the object that declares them to clients, in place of the usual.
	Methods      map[string]*Method
	Capabilities string
}

// Tool is one entry of the table that everything about a tool comes from: the
// input schema, the output schema, the check of the arguments, the command
// line's help and the documentation.
type Tool struct {
	Name        string // [a-z0-9_], unique
	Title       string // for people at a terminal: "Write a line"; not listed
	Description string // for the model: what it does, what to know, in plain sentences
	Hints       Hints
	Params      []Param
	Result      []Field // the members of the object that Run writes
	// Requires names a client capability, "elicitation", without which a
	// stateless client is refused; empty: none.
	Requires string

	// Queue names the bus whose worker runs the call, "i2c-1", so that calls on
	// one bus never overlap and a jammed bus jams nothing else. A nil Queue, or an
	// empty name, means Run answers at once and runs on the dispatcher's own
	// goroutine: it must not wait for anything.
	Queue func(c *Call) string
	// Timeout bounds a queued call, waiting for its turn included; 0 means
	// DefaultTimeout. When it has passed the caller gets an error that names the
	// queue, even if Run still hangs in the kernel.
	Timeout time.Duration

	// Closed says why nobody may call the tool, which rule it is and where it stands:
	// the tool is not listed, and a call is refused with this text, whatever its
	// arguments. Empty: it is open. Of a tool that is closed, Run and all else but Name
	// may be missing.
	Closed string
	// Subjects appends the things that a call touches, by the arguments, under the
	// names that the handler would find them by. What it cannot find it leaves out: the
	// handler says so. It must not wait. Nil: none that a rule could be about.
	Subjects func(c *Call, dst []Subject) []Subject

	// Raw says that Run appends the members of the whole result, "content":[...] and
	// what else belongs there, and may give an *Error, which is then an error of the
	// protocol. For results that are more than a JSON object.
	Raw bool
	// Schema is that of the arguments of a Raw tool, in place of what Params would say:
	// then nothing is checked, and Run finds them in Call.Params. Empty: Params count.
	Schema string
	// Run does the work. It appends one JSON object that fits Result to c.Out, or
	// returns an error whose text says what was wrong, what is allowed and what
	// to do next; then c.Out is dropped. It keeps neither c nor anything of it.
	Run func(c *Call) error

	// Note is the gate's own: what it knows of the tool.
	Note any

	secret bool // of a parameter at least
}

// DefaultTimeout bounds a queued call whose tool names no Timeout.
const DefaultTimeout = 10 * time.Second

// Hints tell reads from writes, truly: a client may skip its question to the
// person for a tool that says ReadOnly.
type Hints struct {
	ReadOnly    bool // changes nothing on the board
	Destructive bool // what it changes may not be undone by a further call
	Idempotent  bool // the same call twice does no more than once
}

// Type is the type of a parameter or a result field.
type Type uint8

// The types. Check brings an argument into the Go form named here.
const (
	String  Type = iota // Call.Str
	Strings             // an array of strings, or one string in its place: Call.Strs
	Integer             // Call.Int; 1.0 and 1e3 count as integers
	Hex                 // Call.Int; a string "0x76" or "118", or an integer; a string in the schema
	Number              // Call.Num
	Boolean             // Call.Bool
	Bytes               // Call.Bytes; a string of hex digits, "0a ff" or "0x0aff", blanks ignored
	Object              // result fields only: an object of Fields
	Objects             // result fields only: an array of objects of Fields
)

// Param is one parameter of a tool, a template or a prompt.
type Param struct {
	Name        string
	Type        Type
	Description string
	Required    bool
	// Min and Max bound a number's value; the bytes of a String or of each of
	// Strings; the count of Bytes. Both zero: no bound but MaxString (or, of
	// Bytes, MaxString bytes).
	Min, Max int64
	// MaxItems bounds Strings; 0 means 64.
	MaxItems int
	// Names gives, of a Hex, the number that stands for a text which is none: a name.
	// Min and Max do not bound it. Nil: no text does.
	Names func(text string) (int64, bool)
	// Secret keeps the value out of the audit and out of the question to a person.
	Secret bool
	// Header has a client that speaks HTTP repeat the value in a header, Mcp-Param- and
	// this, so that a proxy sees it (2026-07-28, x-mcp-header). Empty: none. Only for a
	// String, an Integer or a Boolean of a tool.
	Header string
	// Choices are the values allowed of a String; empty: any.
	Choices []string
	// Complete appends values that begin with prefix, best first. Only for
	// templates and prompts; nil: no completion.
	Complete func(dst []string, prefix string) []string
}

// MaxString is the longest string argument, in bytes, where a Param names no Max.
const MaxString = 1 << 20

// Field is one member of a tool's result.
type Field struct {
	Name        string
	Type        Type
	Description string  // empty where the name says it
	Optional    bool    // may be absent
	Fields      []Field // of an Object or of each of Objects
}

// Resource is something with a fixed URI that a client can read.
type Resource struct {
	URI, Name, Title, Description string
	MIMEType                      string
	// Read appends the content, text in MIMEType, to c.Out. It answers at once.
	Read func(c *Call) error
	// Raw is as of Tool: Read appends "contents":[...].
	Raw bool
}

// Template is a family of resources, one for each value of its one variable.
type Template struct {
	Prefix      string // "gpio://"; the URI template is Prefix + "{" + Param.Name + "}" + Suffix
	Suffix      string
	Param       Param // a String; argument 0 of Read, percent-decoded
	Name        string
	Title       string
	Description string
	MIMEType    string
	// Queue and Read are as of Tool and Resource. A value that names nothing is
	// an error that wraps ErrNotFound.
	Queue func(c *Call) string
	Read  func(c *Call) error
	// Closed is as of Tool; then Prefix may be all there is.
	Closed string
}

// Prompt is a message that a person can start a conversation with.
type Prompt struct {
	Name, Title, Description string
	Params                   []Param // all String
	// Render appends the text of one message from the user to c.Out. It answers
	// at once. Without any arguments it must give a text that makes sense.
	Render func(c *Call) error
	// Raw is as of Tool: Render appends "messages":[...].
	Raw bool
	// Closed is as of Tool; then Name may be all there is.
	Closed string
}

// ErrNotFound is wrapped by the error of a Read whose URI names nothing.
var ErrNotFound = errors.New("not found")
