package httpfront

import (
	"net/http"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// Card is what a server card says of the server beside its address: who it is, for
// clients that look before they connect. What it offers they learn from the server.
type Card struct {
	Name        string // in the catalogue; the card's is Publisher/Name
	Publisher   string
	Title       string // at most 100 bytes
	Description string // likewise
	Version     string
	// Secret says that a client needs a token.
	Secret bool
	// URL is how clients reach the board, without a path: "https://board.example".
	// Empty: as the request's Host says.
	URL string
}

// CardOf is the card of a catalogue.
func CardOf(cat *rpc.Catalogue, description string) Card {
	return Card{Name: cat.Name, Publisher: cat.Name, Title: cat.Title, Description: description, Version: cat.Version}
}

const cardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

// Append appends the card as JSON, for a server at base, such as "http://127.0.0.1:8377".
func (c *Card) Append(dst []byte, base string) []byte {
	dst = wire.AppendString(wire.AppendKey(append(dst, '{'), "$schema"), cardSchema)
	dst = wire.AppendString(wire.AppendKey(dst, "name"), c.Publisher+"/"+c.Name)
	dst = wire.AppendString(wire.AppendKey(dst, "version"), c.Version)
	dst = wire.AppendString(wire.AppendKey(dst, "description"), c.Description)
	if c.Title != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "title"), c.Title)
	}
	dst = append(wire.AppendKey(dst, "remotes"), `[{"type":"streamable-http"`...)
	dst = wire.AppendString(wire.AppendKey(dst, "url"), base+Path)
	dst = append(wire.AppendKey(dst, "supportedProtocolVersions"), '[')
	for _, v := range versions {
		dst = wire.AppendString(wire.AppendSep(dst), v)
	}
	dst = append(dst, ']')
	if c.Secret {
		dst = append(wire.AppendKey(dst, "headers"),
			`[{"name":"Authorization","description":"Bearer and a token: of the board's own authorization server, or the one in its environment","isSecret":true}]`...)
	}
	return append(dst, "}]}"...)
}

// The paths of the card: the one that its specification recommends, and those that
// clients have looked at before there was one.
func isCardPath(path string) bool {
	switch path {
	case Path + "/server-card", "/.well-known/mcp/server-card", "/.well-known/mcp/server-card.json", "/.well-known/mcp-server-card":
		return true
	}
	return false
}

func (s *Server) card(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(w, "GET, HEAD", "the card can only be read")
		return
	}
	base := strings.TrimSuffix(s.cfg.Card.URL, "/")
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/mcp-server-card+json")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(s.cfg.Card.Append(nil, base))
}
