package rpc

import (
	"slices"
	"strconv"
	"sync"

	"boardhand/rpc/wire"
)

// A dialect is one revision of the protocol over one catalogue. All dialects of a
// server work the same catalogue.
type dialect struct {
	shape

	// What is repeated is rendered when it is first asked for: most clients speak one
	// dialect, and the first answer does not wait for a list.
	once     sync.Once
	head     []byte // members that open every result, or empty
	identity []byte // members of the handshake's result
	lists    [4]struct {
		once  sync.Once
		pages pages
	}
}

// shape is which methods a revision has, and how its results look.
type shape struct {
	version string
	methods func(name []byte) method // nil: there is none of this name

	complete     bool // results say resultType and carry serverInfo (2026-07-28)
	titles       bool // entries have a title of their own (2025-06-18)
	annotations  bool // tools have annotations (2025-03-26)
	structured   bool // tools have an output schema and structuredContent (2025-06-18)
	completions  bool // the capability exists (2025-03-26)
	batches      bool // arrays of requests (2025-03-26 only)
	progressText bool // progress has a message (2025-03-26)
	notifies     bool // progress and log messages exist
	elicits      bool // the server may ask the client by elicitation/create (2025-06-18 and 2025-11-25)
	arrays       bool // lists are plain arrays (Content-Length MCP 1.0)
	nullID       bool // an error about an unreadable request says "id":null, as JSON-RPC has it
	notFound     int  // the code of a resource that does not exist
}

// ready readies a dialect the first time that it is spoken.
func (s *Server) ready(d *dialect) *dialect {
	d.once.Do(func() {
		if d.complete {
			d.head = appendHead(nil, &s.cat, false)
		}
		if !d.arrays {
			d.identity = d.appendIdentity(nil, &s.cat)
		}
	})
	return d
}

// list gives the pages of a list, the rendered members of its results.
func (s *Server) list(d *dialect, list int) pages {
	l := &d.lists[list]
	l.once.Do(func() { l.pages = d.render(list, &s.cat, s.limits.Page) })
	return l.pages
}

// method serves one request of a dialect. It answers, or starts a job that will.
type method func(c *Conn, r *request)

// pages are the rendered pages of one list.
type pages [][]byte

// The lists of a dialect.
const (
	listTools = iota
	listResources
	listTemplates
	listPrompts
)

var listMembers = [...]string{"tools", "resources", "resourceTemplates", "prompts"}

// The hint that a client gets for how long it may keep a list. A catalogue does
// not change while its server lives, and a client starts the server anew.
const listTTL = `,"ttlMs":3600000,"cacheScope":"public"`

// What a resource holds is as of now, and nobody else's.
const readTTL = `,"ttlMs":0,"cacheScope":"private"`

func (d *dialect) render(list int, cat *Catalogue, page int) pages {
	switch {
	case d.arrays:
		return pages{appendV1Tools(nil, cat)}
	case list == listTools:
		return d.paginate(list, page, len(cat.Tools), func(dst []byte, i int) []byte { return d.appendTool(dst, &cat.Tools[i]) })
	case list == listResources:
		return d.paginate(list, page, len(cat.Resources), func(dst []byte, i int) []byte { return d.appendResource(dst, &cat.Resources[i]) })
	case list == listTemplates:
		return d.paginate(list, page, len(cat.Templates), func(dst []byte, i int) []byte { return d.appendTemplate(dst, &cat.Templates[i]) })
	}
	return d.paginate(list, page, len(cat.Prompts), func(dst []byte, i int) []byte { return d.appendPrompt(dst, &cat.Prompts[i]) })
}

// paginate renders the pages of one list of n items; a page holds at least one
// item, and no more than limit bytes of them where it holds several.
func (d *dialect) paginate(list, limit, n int, appendItem func(dst []byte, i int) []byte) pages {
	var out pages
	for i := 0; ; {
		page := append([]byte(nil), d.head...)
		page = append(wire.AppendKey(page, listMembers[list]), '[')
		for first := i; i < n; i++ {
			end := len(page)
			page = appendItem(wire.AppendSep(page), i)
			if len(page) > limit && i > first {
				page = page[:end]
				break
			}
		}
		page = append(page, ']')
		if i < n {
			page = append(page, `,"nextCursor":"`...)
			page = append(page, cursorPrefix...)
			page = strconv.AppendInt(page, int64(len(out)+1), 10)
			page = append(page, '"')
		}
		if d.complete {
			page = append(page, listTTL...)
		}
		out = append(out, slices.Clip(page))
		if i >= n {
			return out
		}
	}
}

// cursorPrefix opens every cursor; what follows is the number of a page.
const cursorPrefix = "page-"

// page finds the page that a cursor names; nil means there is none.
func (p pages) page(cursor []byte) []byte {
	if len(cursor) <= len(cursorPrefix) || string(cursor[:len(cursorPrefix)]) != cursorPrefix {
		return nil
	}
	n, err := strconv.Atoi(string(cursor[len(cursorPrefix):]))
	if err != nil || n < 1 || n >= len(p) {
		return nil
	}
	return p[n]
}

func appendImplementation(dst []byte, cat *Catalogue, titles bool) []byte {
	dst = append(dst, `{"name":`...)
	dst = wire.AppendString(dst, cat.Name)
	if titles && cat.Title != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "title"), cat.Title)
	}
	dst = wire.AppendString(wire.AppendKey(dst, "version"), cat.Version)
	return append(dst, '}')
}

// appendHead appends what every stateless result says first. Only discovery
// tells the server's title: the rest is repeated with every answer.
func appendHead(dst []byte, cat *Catalogue, title bool) []byte {
	dst = append(dst, `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":`...)
	return append(appendImplementation(dst, cat, title), '}')
}

func (d *dialect) appendIdentity(dst []byte, cat *Catalogue) []byte {
	if d.complete {
		dst = appendHead(dst, cat, true)
		dst = append(wire.AppendKey(dst, "supportedVersions"), '[')
		dst = append(append(dst, versionList...), ']')
	} else {
		dst = wire.AppendString(wire.AppendKey(dst, "protocolVersion"), d.version)
		dst = appendImplementation(wire.AppendKey(dst, "serverInfo"), cat, d.titles)
	}
	dst = append(wire.AppendKey(dst, "capabilities"), '{')
	if cat.Capabilities != "" {
		dst = append(dst, cat.Capabilities...)
	} else {
		dst = append(dst, `"tools":{},"resources":{},"prompts":{},"logging":{}`...)
	}
	if d.completions {
		dst = append(dst, `,"completions":{}`...)
	}
	dst = append(dst, '}')
	if cat.Instructions != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "instructions"), cat.Instructions)
	}
	if d.complete {
		dst = append(dst, listTTL...)
	}
	return dst
}

// appendTool leaves out the output schema, which would be two fifths of the list that
// a model reads and pays for, where a result explains itself, and the title, which
// says no more than the name.
func (d *dialect) appendTool(dst []byte, t *Tool) []byte {
	dst = wire.AppendString(append(dst, `{"name":`...), t.Name)
	dst = wire.AppendString(wire.AppendKey(dst, "description"), t.Description)
	if dst = wire.AppendKey(dst, "inputSchema"); t.Schema != "" {
		dst = append(dst, t.Schema...)
	} else {
		dst = appendInputSchema(dst, t.Params)
	}
	if d.annotations {
		dst = append(wire.AppendKey(dst, "annotations"), '{')
		if t.Hints.ReadOnly {
			dst = append(wire.AppendKey(dst, "readOnlyHint"), "true"...)
		} else {
			dst = wire.AppendBool(wire.AppendKey(dst, "destructiveHint"), t.Hints.Destructive)
			if t.Hints.Idempotent { // false is the default; so is true of the other, which is told all the same
				dst = append(wire.AppendKey(dst, "idempotentHint"), "true"...)
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendNames appends the members that every listed thing but a tool has.
func (d *dialect) appendNames(dst []byte, name, title, description, mimeType string) []byte {
	dst = wire.AppendString(wire.AppendKey(dst, "name"), name)
	if d.titles && title != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "title"), title)
	}
	if description != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "description"), description)
	}
	if mimeType != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "mimeType"), mimeType)
	}
	return dst
}

func (d *dialect) appendResource(dst []byte, r *Resource) []byte {
	dst = wire.AppendString(append(dst, `{"uri":`...), r.URI)
	return append(d.appendNames(dst, r.Name, r.Title, r.Description, r.MIMEType), '}')
}

func (d *dialect) appendTemplate(dst []byte, t *Template) []byte {
	dst = wire.AppendString(append(dst, `{"uriTemplate":`...), t.uri())
	return append(d.appendNames(dst, t.Name, t.Title, t.Description, t.MIMEType), '}')
}

func (d *dialect) appendPrompt(dst []byte, p *Prompt) []byte {
	dst = append(d.appendNames(append(dst, '{'), p.Name, p.Title, p.Description, ""), `,"arguments":[`...)
	for i := range p.Params {
		a := &p.Params[i]
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"name":`...), a.Name)
		dst = wire.AppendString(wire.AppendKey(dst, "description"), a.Description)
		dst = append(wire.AppendBool(wire.AppendKey(dst, "required"), a.Required), '}')
	}
	return append(dst, "]}"...)
}

func (t *Template) uri() string { return t.Prefix + "{" + t.Param.Name + "}" + t.Suffix }
