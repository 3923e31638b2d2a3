package oauth

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

const (
	maxFile   = 1 << 20     // bytes of the file of grants
	lookEvery = time.Second // how long a revocation by another process may go unseen
)

// Store is the file of grants. Several processes may use it at once: each change is
// made under a lock, on what is in the file, and the file is replaced as a whole.
type Store struct {
	path string // "" keeps the grants in memory
	warn func(string)

	mu       sync.Mutex
	looked   time.Time   // when the file was last looked at
	info     fs.FileInfo // what it was then; nil: none
	warned   bool
	grants   map[string]*Grant
	access   map[digest]*Grant
	families map[digest]*Grant
}

// OpenStore opens the file of grants, which may not exist yet; so may its folder, which
// is made when something is written. warn is told what the store can do without: that
// the file cannot be written.
func OpenStore(path string, warn func(string)) (*Store, error) {
	s := &Store{path: path, warn: warn}
	s.index(nil)
	if path == "" {
		return s, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.load()
}

// Grants lists the grants that have not ended, the oldest first.
func (s *Store) Grants() ([]Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.look()
	var list []Grant
	for _, g := range s.grants {
		if time.Now().Before(g.Expires) {
			list = append(list, *g)
		}
	}
	slices.SortFunc(list, func(a, b Grant) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// ErrNoGrant says that there is no grant of this id.
var ErrNoGrant = errors.New("there is no such grant")

// Revoke ends a grant; a server that uses the same file sees it within a second.
func (s *Store) Revoke(id string) error {
	return s.change(func() error {
		if s.grants[id] == nil {
			return ErrNoGrant
		}
		s.drop(id)
		return nil
	})
}

// change makes a change to the grants: it runs f on those of the file that have not
// ended, and writes them unless f fails. A file that cannot be written is an
// *unwrittenError, and the change holds in memory.
func (s *Store) change(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := error(nil) // why the file will not have it
	if s.path != "" {
		err := os.MkdirAll(filepath.Dir(s.path), 0o700)
		unlock := func() {}
		if err == nil {
			unlock, err = lockFile(s.path + ".lock")
		}
		if lost = err; err == nil {
			defer unlock()
			s.looked = time.Time{}
		}
		if err := s.look(); err != nil {
			return err
		}
	}
	for id, g := range s.grants {
		if !time.Now().Before(g.Expires) {
			s.drop(id)
		}
	}
	if err := f(); err != nil {
		return err
	}
	s.index(s.grants)
	if s.path != "" && lost == nil {
		lost = s.write()
	}
	if lost != nil {
		return &unwrittenError{lost}
	}
	return nil
}

// drop takes a grant off.
func (s *Store) drop(id string) {
	g := s.grants[id]
	delete(s.grants, id)
	delete(s.access, g.access)
	delete(s.families, g.family)
}

// How long a lock is waited for: who holds it writes a small file.
const lockTime = 5 * time.Second

// lockFile waits for the lock of a file, which it makes where it is not.
func lockFile(path string) (unlock func(), err error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		unlock, err = tryLock(path)
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, errLocked):
			return nil, err
		case time.Since(began) > lockTime:
			return nil, fmt.Errorf("another process has held %s for %v", path, lockTime)
		}
	}
}

var errLocked = errors.New("another process has the lock")

// unwrittenError says that a change is not in the file.
type unwrittenError struct{ cause error }

func (e *unwrittenError) Error() string { return "the file of tokens: " + e.cause.Error() }
func (e *unwrittenError) Unwrap() error { return e.cause }

// kept is the error of a change whose loss the board lives with: it is said once.
func (s *Store) kept(err error) error {
	var unwritten *unwrittenError
	if !errors.As(err, &unwritten) {
		return err
	}
	s.mu.Lock()
	first := !s.warned
	s.warned = true
	s.mu.Unlock()
	if first {
		s.warn(err.Error() + "; clients keep their access until boardhand ends, then they must be approved again")
	}
	return nil
}

// look loads the file when it has changed, and asks that once in a while.
func (s *Store) look() error {
	if s.path == "" || time.Since(s.looked) < lookEvery {
		return nil
	}
	info, err := os.Stat(s.path)
	s.looked = time.Now()
	switch {
	case err != nil && s.info == nil:
		return nil // never written, or not to be read: what is in memory holds
	case err == nil && s.info != nil && os.SameFile(info, s.info) && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size():
		return nil
	}
	return s.load()
}

// load reads the file.
func (s *Store) load() error {
	s.looked = time.Now()
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.info = nil
		s.index(nil)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the file of tokens: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the file of tokens: %w", err)
	}
	if info.Size() > maxFile {
		return fmt.Errorf("the file of tokens %s has %d bytes; it has at most %d: move it away and approve the clients again", s.path, info.Size(), maxFile)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil && len(text) > 0 {
		return fmt.Errorf("the file of tokens: %w", err)
	}
	grants, err := parseGrants(text)
	if err != nil {
		return fmt.Errorf("the file of tokens %s is damaged: %w; move it away and approve the clients again", s.path, err)
	}
	s.info = info
	s.index(grants)
	return nil
}

func (s *Store) index(grants map[string]*Grant) {
	s.grants = grants
	if grants == nil {
		s.grants = make(map[string]*Grant)
	}
	s.access = make(map[digest]*Grant, len(grants))
	s.families = make(map[digest]*Grant, len(grants))
	for _, g := range grants {
		s.access[g.access] = g
		s.families[g.family] = g
	}
}

// write replaces the file: whoever reads it sees the old one or the new one, and so
// does a board whose power fails.
func (s *Store) write() error {
	text := []byte(`{"version":1,"grants":[`)
	for _, id := range slices.Sorted(maps.Keys(s.grants)) {
		text = appendGrant(append(wire.AppendSep(text), '\n'), s.grants[id])
	}
	text = append(text, "\n]}\n"...)
	f, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".new-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	giveToOwner(f)
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	err = errors.Join(err, statErr, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return err
	}
	s.info = info
	if dir, err := os.Open(filepath.Dir(s.path)); err == nil {
		_ = dir.Sync() // Windows has no such thing
		_ = dir.Close()
	}
	return nil
}

func appendGrant(b []byte, g *Grant) []byte {
	text := func(key, value string) { b = wire.AppendString(wire.AppendKey(b, key), value) }
	when := func(key string, t time.Time) { b = wire.AppendInt(wire.AppendKey(b, key), t.Unix()) }
	b = append(b, '{')
	text("id", g.ID)
	text("client", g.Client)
	text("name", g.Name)
	text("returns", g.Returns)
	text("scope", g.Scope.String())
	text("resource", g.Resource)
	text("issuer", g.issuer)
	when("created", g.Created)
	when("used", g.Used)
	when("expires", g.Expires)
	text("access", g.access.text())
	when("access_until", g.accessUntil)
	text("family", g.family.text())
	text("refresh", g.refresh.text())
	text("method", g.client.method)
	if g.client.method != authNone {
		text("secret", g.client.secret.text())
	}
	b = wire.AppendBool(wire.AppendKey(b, "described"), g.client.described)
	b = appendStrings(wire.AppendKey(b, "redirects"), g.client.redirects...)
	return append(b, '}')
}

// parseGrants reads the text of the file. Its errors quote nothing of it.
func parseGrants(text []byte) (map[string]*Grant, error) {
	if err := wire.Scan(text, wire.Limits{Depth: 8, Values: maxGrants * 64}); err != nil {
		return nil, err
	}
	v, err := fastjson.ParseBytes(text)
	if err != nil {
		return nil, errors.New("it is no JSON")
	}
	if n := v.GetInt("version"); n != 1 {
		return nil, fmt.Errorf("its version is %d; this boardhand knows 1", n)
	}
	list := v.GetArray("grants")
	if len(list) > maxGrants {
		return nil, fmt.Errorf("it has %d grants; there are at most %d", len(list), maxGrants)
	}
	grants := make(map[string]*Grant, len(list))
	for i, v := range list {
		g, ok := parseGrant(v)
		if !ok || grants[g.ID] != nil {
			return nil, fmt.Errorf("grant %d lacks something or is there twice", i+1)
		}
		grants[g.ID] = g
	}
	return grants, nil
}

func parseGrant(v *fastjson.Value) (*Grant, bool) {
	text := func(key string) string { return string(v.GetStringBytes(key)) }
	when := func(key string) time.Time { return time.Unix(v.GetInt64(key), 0) }
	ok := true
	hash := func(key string) digest {
		d, good := parseDigest(text(key))
		ok = ok && good
		return d
	}
	c := &client{id: text("client"), name: text("name"), method: text("method"), described: v.GetBool("described")}
	for _, u := range v.GetArray("redirects") {
		c.redirects = append(c.redirects, string(u.GetStringBytes()))
	}
	if c.method != authNone {
		c.secret = hash("secret")
	}
	g := &Grant{
		ID: text("id"), Client: c.id, Name: c.name, Returns: text("returns"), Scope: parseScope(text("scope")),
		Resource: text("resource"), issuer: text("issuer"),
		Created: when("created"), Used: when("used"), Expires: when("expires"),
		access: hash("access"), accessUntil: when("access_until"), family: hash("family"), refresh: hash("refresh"),
		client: c,
	}
	return g, ok && g.ID != "" && c.id != "" && g.Resource != "" && g.Scope != 0
}

// clientOf is the client of this id that has a grant, or nil.
func (s *Store) clientOf(id string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.look() // what the file cannot tell, memory may
	return s.client(id)
}

// client is clientOf while the store is being changed.
func (s *Store) client(id string) *client {
	for _, g := range s.grants {
		if g.Client == id && time.Now().Before(g.Expires) {
			return g.client
		}
	}
	return nil
}

// present is the grant whose place a new approval of a client takes, which stays the
// same one: so a session lives on when its client is allowed more. A client that a
// document describes has none, since many programs share its id. It is called while
// the store is being changed.
func (s *Store) present(c *client, resource string) *Grant {
	for _, g := range s.grants {
		if g.Client == c.id && g.Resource == resource && !c.described {
			return g
		}
	}
	return nil
}

// remember keeps the last refresh of a grant for repeatLife. It is called while the
// store is being changed.
func (s *Store) remember(g *Grant, r *repeat) {
	g.repeat = r
	time.AfterFunc(repeatLife, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if g.repeat == r {
			g.repeat = nil
		}
	})
}

// hasRoom says whether a client can be approved.
func (s *Store) hasRoom(c *client, resource string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.grants {
		if time.Now().Before(g.Expires) {
			n++
		}
	}
	return n < maxGrants || s.present(c, resource) != nil
}

// byAccess is the grant of an access token, as it is now; ok is false when there is
// none, or it has ended.
func (s *Store) byAccess(d digest) (g Grant, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look() != nil {
		return Grant{}, false // what may have been revoked does not hold
	}
	p := s.access[d]
	if p == nil || !time.Now().Before(p.accessUntil) {
		return Grant{}, false
	}
	return *p, true
}

// lives says whether the grant of this id has not ended.
func (s *Store) lives(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look() != nil {
		return false
	}
	g := s.grants[id]
	return g != nil && time.Now().Before(g.Expires)
}
