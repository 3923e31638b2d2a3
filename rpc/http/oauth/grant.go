package oauth

import (
	"crypto/rand"
	"net/netip"
	"strings"
	"time"
)

// Grant is what one client may do, until it ends.
type Grant struct {
	ID      string // names it for "boardhand tokens revoke"; no secret
	Client  string // the client's id
	Name    string // what the client calls itself
	Returns string // the host its answers go to: that of a web site, or localhost for a program
	Scope   Scope
	// Resource is the address it is for, the only one where its tokens hold (RFC 8707).
	Resource string
	Created  time.Time
	Used     time.Time // when a token was last issued
	Expires  time.Time // unless a token is issued before

	client      *client
	issuer      string
	access      digest
	accessUntil time.Time
	family      digest // of what all its refresh tokens begin with
	refresh     digest // of the rest of the present one
	repeat      *repeat
}

// repeat is the last refresh, in memory only and for repeatLife. A client that makes
// several calls at once renews its token several times at once when it has expired,
// each with the same refresh token (both official TypeScript SDKs do): they get one
// answer. A second copy in other hands is noticed all the same, from another address
// at once and else at the next refresh.
type repeat struct {
	own  digest // of the refresh token that was used
	peer netip.Addr
	tokens
}

const repeatLife = 10 * time.Second

// How long things last.
const (
	accessLife = time.Hour
	idleLife   = 30 * 24 * time.Hour  // of a grant that is not used
	grantLife  = 365 * 24 * time.Hour // of any
)

// maxGrants is how many grants a board has.
const maxGrants = 64

// tokens are what a client gets; only their digests are kept.
type tokens struct{ access, refresh string }

// newGrant makes a grant with an id that is not in use.
func newGrant(c *client, taken map[string]*Grant) *Grant {
	id := ""
	for id == "" || taken[id] != nil {
		id = strings.ToLower(rand.Text()[:6])
	}
	return &Grant{ID: id, Client: c.id}
}

// issue gives the grant new tokens of a family; those before end.
func (g *Grant) issue(family string) tokens {
	now := time.Now()
	t := tokens{newAccess(), newRefresh(family)}
	_, own, _ := splitRefresh(t.refresh)
	g.access, g.accessUntil = digestOf(t.access), now.Add(accessLife)
	g.family, g.refresh = digestOf(family), digestOf(own)
	g.Used = now
	g.Expires = now.Add(idleLife)
	if end := g.Created.Add(grantLife); end.Before(g.Expires) {
		g.Expires = end
	}
	if g.Expires.Before(g.accessUntil) {
		g.accessUntil = g.Expires
	}
	return t
}
