package oauth

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	s, err := OpenStore(path, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refreshWith(d *desk, id, token string) reply {
	return d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {token}})
}

func TestGrantsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "tokens.json")
	d := newDesk(t, Config{Store: openStore(t, path)})
	id, access, refresh := d.paired(t)
	who, err := d.identify(access)
	if err != nil {
		t.Fatal(err)
	}
	before, err := d.store.Grants()
	if err != nil || len(before) != 1 {
		t.Fatalf("%v, %v", before, err)
	}

	d = newDesk(t, Config{Store: openStore(t, path)})
	if again, err := d.identify(access); err != nil || again != who {
		t.Errorf("identified as %+v, %v; was %+v", again, err, who)
	}
	after, err := d.store.Grants()
	if err != nil || len(after) != 1 {
		t.Fatalf("%v, %v", after, err)
	}
	g, was := after[0], before[0]
	if g.ID != was.ID || g.Client != id || g.Name != "Test Client" || g.Returns != "127.0.0.1" || g.Scope != Both ||
		g.Resource != base+"/mcp" || g.Created.Unix() != was.Created.Unix() || g.Expires.Unix() != was.Expires.Unix() {
		t.Errorf("grant %+v; was %+v", g, was)
	}
	r := refreshWith(d, id, refresh)
	if r.status != 200 {
		t.Fatalf("refresh: %d %s", r.status, r.body)
	}
	if _, err := d.identify(access); err != ErrToken {
		t.Errorf("the access token before it: %v", err)
	}
	d.from = "192.168.1.66:1"
	if r := refreshWith(d, id, refresh); r.status != 400 || len(d.store.grants) != 0 {
		t.Errorf("the refresh token a second time: %d, %d grants", r.status, len(d.store.grants))
	}
	// The client itself needs no new registration while it has a grant.
	id, _, _ = d.paired(t)
	d = newDesk(t, Config{Store: openStore(t, path)})
	d.approved(t, id)
}

func TestTheFileIsForItsOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "state", "tokens.json")
	d := newDesk(t, Config{Store: openStore(t, path)})
	d.paired(t)
	for name, want := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	left, _ := filepath.Glob(path + ".new-*")
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Where root revokes a token, the service that owns the folder goes on reading the file.
func TestRootLeavesTheFileToItsOwner(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 4321, 4322); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "tokens.json")
	d := newDesk(t, Config{Store: openStore(t, path)})
	d.paired(t)
	for _, name := range []string{path, path + ".lock"} {
		info, err := os.Stat(name)
		if err != nil || !strings.Contains(fmt.Sprintf("%+v", info.Sys()), "Uid:4321 Gid:4322") {
			t.Errorf("%s: %+v, %v", name, info.Sys(), err)
		}
	}
}

func TestAnotherProcessRevokes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		d := newDesk(t, Config{Store: openStore(t, path)})
		_, access, _ := d.paired(t)
		who, _ := d.identify(access)
		other := openStore(t, path)
		if err := other.Revoke("nobody"); !errors.Is(err, ErrNoGrant) {
			t.Errorf("an unknown grant: %v", err)
		}
		if err := other.Revoke(who.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		if _, err := d.identify(access); err != ErrToken || d.Lives(who.ID) {
			t.Errorf("after it was revoked: %v", err)
		}
	})
}

func TestAFileThatIsTakenAwayEndsItsGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		d := newDesk(t, Config{Store: openStore(t, path)})
		_, access, _ := d.paired(t)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		if _, err := d.identify(access); err != ErrToken {
			t.Errorf("%v", err)
		}
	})
}

// Two servers on one file, as of two boardhands on one board, lose nothing of each
// other.
func TestProcessesShareTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var group sync.WaitGroup
	for range 2 {
		d := newDesk(t, Config{Store: openStore(t, path)})
		for range 8 {
			id, _, refresh := d.paired(t)
			group.Go(func() {
				if r := refreshWith(d, id, refresh); r.status != 200 {
					t.Errorf("%d %s", r.status, r.body)
				}
			})
		}
	}
	group.Wait()
	if list, err := openStore(t, path).Grants(); err != nil || len(list) != 16 {
		t.Errorf("%d grants, %v", len(list), err)
	}
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	// A folder cannot be where a file is, not even for root.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state", "tokens.json")
	var said []string
	s := &Store{path: path, warn: func(text string) { said = append(said, text) }}
	s.index(nil)
	d := newDesk(t, Config{Store: s})
	id, access, refresh := d.paired(t)
	if _, err := d.identify(access); err != nil {
		t.Errorf("the client has no access: %v", err)
	}
	if r := refreshWith(d, id, refresh); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if len(said) != 1 || !strings.Contains(said[0], "until boardhand ends") {
		t.Errorf("said %q; want one warning", said)
	}
}

func TestDamagedFiles(t *testing.T) {
	const grant = `{"id":"a","client":"c","name":"n","returns":"h","scope":"board:read","resource":"http://b/mcp","issuer":"http://b",` +
		`"created":1,"used":1,"expires":1,"access":"` + zeroDigest + `","access_until":1,"family":"` + zeroDigest + `","refresh":"` + zeroDigest + `","method":"none","described":false,"redirects":["http://localhost/"]}`
	for name, tt := range map[string]struct{ text, want string }{
		"whole":               {`{"version":1,"grants":[` + grant + `]}`, ""},
		"empty":               {"", "damaged"},
		"cut short":           {`{"version":1,"grants":[`, "damaged"},
		"of a later version":  {`{"version":2,"grants":[]}`, "its version is 2"},
		"a grant twice":       {`{"version":1,"grants":[` + grant + "," + grant + `]}`, "grant 2"},
		"a digest too short":  {`{"version":1,"grants":[` + strings.Replace(grant, zeroDigest, "AAAA", 1) + `]}`, "grant 1"},
		"a grant of no scope": {`{"version":1,"grants":[` + strings.Replace(grant, "board:read", "", 1) + `]}`, "grant 1"},
		"no secret":           {`{"version":1,"grants":[` + strings.Replace(grant, `"none"`, `"client_secret_post"`, 1) + `]}`, "grant 1"},
		"too many grants":     {`{"version":1,"grants":[` + strings.Repeat(grant+",", maxGrants) + grant + `]}`, "at most 64"},
		"too long":            {strings.Repeat(" ", maxFile+1), "it has at most"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokens.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := OpenStore(path, nil)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

const zeroDigest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// A file that becomes unreadable under a server lets nobody in: a revocation may
// stand in it.
func TestAFileThatBecomesDamagedLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		d := newDesk(t, Config{Store: openStore(t, path)})
		id, access, refresh := d.paired(t)
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		for range 3 {
			if _, err := d.identify(access); err != ErrToken {
				t.Errorf("%v", err)
			}
			time.Sleep(lookEvery)
		}
		if r := refreshWith(d, id, refresh); r.status != 503 || !strings.Contains(d.text(), "is damaged") {
			t.Errorf("%d %s; %s", r.status, r.body, d.text())
		}
		if text, _ := os.ReadFile(path); string(text) != "{" {
			t.Error("the damaged file was written over")
		}
	})
}

func FuzzParseGrants(f *testing.F) {
	c := &client{id: "bhc_A", name: "a", method: authPost, redirects: []string{callback}}
	g := newGrant(c, nil)
	g.Name, g.client, g.Scope, g.Resource = c.name, c, Both, base+"/mcp"
	g.issue(strings.Repeat("A", secretLen))
	f.Add(append(appendGrant([]byte(`{"version":1,"grants":[`), g), "]}"...))
	f.Add([]byte(`{"version":1,"grants":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		grants, err := parseGrants(text)
		if err != nil {
			return
		}
		again := []byte(`{"version":1,"grants":[`)
		for _, g := range grants {
			if len(again) > 23 {
				again = append(again, ',')
			}
			again = appendGrant(again, g)
		}
		second, err := parseGrants(append(again, "]}"...))
		if err != nil || len(second) != len(grants) {
			t.Fatalf("%d grants become %d, %v: %s", len(grants), len(second), err, again)
		}
		for id, g := range grants {
			if fmt.Sprint(second[id].access, second[id].Scope, second[id].client.redirects) != fmt.Sprint(g.access, g.Scope, g.client.redirects) {
				t.Fatalf("%+v becomes %+v", g, second[id])
			}
		}
	})
}
