package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	host     = "board.local:8377"
	base     = "http://" + host
	callback = "http://127.0.0.1:3000/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
)

var challenge = func() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}()

// console keeps what a server says.
type console struct {
	mu    sync.Mutex
	lines []string
}

func (c *console) say(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "\n")
}

// code is the last pairing code that was said.
func (c *console) code(t testing.TB) string {
	t.Helper()
	found := regexp.MustCompile(`pairing code is (\S{4}-\S{4}),`).FindAllStringSubmatch(c.text(), -1)
	if len(found) == 0 {
		t.Fatalf("no pairing code on the console: %q", c.text())
	}
	return found[len(found)-1][1]
}

// desk is a server under test, with its console.
type desk struct {
	*Server
	console
	from string // the address that requests come from
}

func newDesk(t testing.TB, c Config) *desk {
	t.Helper()
	d := &desk{from: "192.168.1.9:5000"}
	c.Say = d.console.say
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Server = s
	return d
}

type reply struct {
	status int
	header http.Header
	body   string
}

// text is what a page says.
func (r reply) text() string {
	_, body, _ := strings.Cut(r.body, "<main>")
	return html.UnescapeString(body)
}

func (r reply) get(t testing.TB, name string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(r.body), &object); err != nil {
		t.Fatalf("status %d, body %q: %v", r.status, r.body, err)
	}
	if object[name] == nil {
		return ""
	}
	return fmt.Sprint(object[name])
}

func (d *desk) do(method, target, media, body string, header ...string) reply {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	u, err := url.ParseRequestURI(target)
	if err != nil {
		path, query, _ := strings.Cut(target, "?") // as it is on the wire
		u = &url.URL{Path: path, RawQuery: query}
	}
	r.URL, r.Host, r.RemoteAddr = u, host, d.from
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Result().Body)
	return reply{w.Code, w.Result().Header, string(text)}
}

func (d *desk) post(path string, v url.Values, header ...string) reply {
	return d.do("POST", path, "application/x-www-form-urlencoded", v.Encode(), header...)
}

func (d *desk) registerClient(t testing.TB, body string) reply {
	t.Helper()
	r := d.do("POST", registerPath, "application/json", body)
	if r.status != 201 {
		t.Fatalf("registration: %d %s", r.status, r.body)
	}
	return r
}

const registration1 = `{"client_name":"Test Client","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"none"}`

func ask(id string, more ...string) url.Values {
	v := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {callback}, "state": {"st&te"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {base + "/mcp"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
		if more[i+1] == "" {
			v.Del(more[i])
		}
	}
	return v
}

// open loads the approval page and gives the form's request.
func (d *desk) open(t testing.TB, v url.Values) string {
	t.Helper()
	r := d.do("GET", authorizePath+"?"+v.Encode(), "", "")
	found := regexp.MustCompile(`name="request" value="([A-Z0-9]+)"`).FindStringSubmatch(r.body)
	if r.status != 200 || found == nil {
		t.Fatalf("approval page: %d %s", r.status, r.body)
	}
	return found[1]
}

// answered is the query of the redirect that follows a decision.
func answered(t testing.TB, r reply) url.Values {
	t.Helper()
	to, err := url.Parse(r.header.Get("Location"))
	if r.status != http.StatusSeeOther || err != nil || to.Host != "127.0.0.1:3000" {
		t.Fatalf("no redirect to the client: %d %v %s", r.status, r.header, r.body)
	}
	return to.Query()
}

// approved gives the authorization code after an approval.
func (d *desk) approved(t testing.TB, id string, more ...string) string {
	t.Helper()
	req := d.open(t, ask(id, more...))
	v := answered(t, d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}, "write": {"yes"}}))
	if v.Get("state") != "st&te" || v.Get("iss") != base || v.Get("code") == "" {
		t.Fatalf("answer %v", v)
	}
	return v.Get("code")
}

func redeem(id, code string, more ...string) url.Values {
	v := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {id},
		"redirect_uri": {callback}, "code_verifier": {verifier}, "resource": {base + "/mcp"}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

// paired is a client with its tokens.
func (d *desk) paired(t testing.TB) (id, access, refresh string) {
	t.Helper()
	id = d.registerClient(t, registration1).get(t, "client_id")
	r := d.post(tokenPath, redeem(id, d.approved(t, id)))
	if r.status != 200 {
		t.Fatalf("token: %d %s", r.status, r.body)
	}
	return id, r.get(t, "access_token"), r.get(t, "refresh_token")
}

func (d *desk) identify(token string) (Identity, error) {
	r := httptest.NewRequest("POST", base+"/mcp", nil)
	r.RemoteAddr = d.from
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return d.Identify(r)
}

func TestAClientGetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{Name: "the <pump> board"})
		reg := d.registerClient(t, registration1)
		id := reg.get(t, "client_id")
		if reg.get(t, "token_endpoint_auth_method") != "none" || reg.get(t, "client_secret") != "" || reg.header.Get("Cache-Control") != "no-store" {
			t.Errorf("registration: %v %s", reg.header, reg.body)
		}
		code := d.approved(t, id)
		r := d.post(tokenPath, redeem(id, code))
		access, refresh := r.get(t, "access_token"), r.get(t, "refresh_token")
		if r.status != 200 || r.get(t, "token_type") != "Bearer" || r.get(t, "expires_in") != "3600" || r.get(t, "scope") != "board:read board:write" ||
			r.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("token: %d %v %s", r.status, r.header, r.body)
		}
		who, err := d.identify(access)
		if err != nil || who.Scope != Both || !d.Lives(who.ID) {
			t.Errorf("identified as %+v, %v", who, err)
		}
		if _, err := d.identify(refresh); err != ErrToken {
			t.Errorf("a refresh token as access token: %v", err)
		}
		time.Sleep(accessLife)
		if _, err := d.identify(access); err != ErrToken {
			t.Errorf("an expired token: %v", err)
		}
		r = d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}})
		access2, refresh2 := r.get(t, "access_token"), r.get(t, "refresh_token")
		if r.status != 200 || access2 == access || refresh2 == refresh {
			t.Fatalf("refresh: %d %s", r.status, r.body)
		}
		if again, err := d.identify(access2); err != nil || again != who {
			t.Errorf("after a refresh identified as %+v, %v", again, err)
		}
		// A refresh token that is used twice ends the grant.
		time.Sleep(repeatLife + time.Second)
		r = d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}})
		if r.status != 400 || r.get(t, "error") != "invalid_grant" {
			t.Errorf("%d %s", r.status, r.body)
		}
		if _, err := d.identify(access2); err != ErrToken || d.Lives(who.ID) {
			t.Errorf("the grant lives on: %v", err)
		}
		if r := d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh2}}); r.status != 400 {
			t.Errorf("the newest refresh token: %d %s", r.status, r.body)
		}
		for _, secret := range []string{access, refresh, access2, refresh2, code, verifier} {
			if strings.Contains(d.text(), secret) {
				t.Errorf("the console shows a secret: %s", d.text())
			}
		}
	})
}

func TestACodeServesOnce(t *testing.T) {
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	code := d.approved(t, id)
	access := d.post(tokenPath, redeem(id, code)).get(t, "access_token")
	if r := d.post(tokenPath, redeem(id, code)); r.status != 400 || r.get(t, "error") != "invalid_grant" {
		t.Errorf("the second time: %d %s", r.status, r.body)
	}
	if _, err := d.identify(access); err != ErrToken {
		t.Errorf("what came of a stolen code still holds: %v", err)
	}
}

func TestARefreshIsRepeated(t *testing.T) {
	t.Run("by calls of one client at once: one answer", func(t *testing.T) {
		d := newDesk(t, Config{Store: openStore(t, filepath.Join(t.TempDir(), "tokens.json"))})
		id, _, refresh := d.paired(t)
		var group sync.WaitGroup
		answers := make([]reply, 8)
		for i := range answers {
			group.Go(func() { answers[i] = refreshWith(d, id, refresh) })
		}
		group.Wait()
		for _, r := range answers {
			if r.status != 200 || r.get(t, "access_token") != answers[0].get(t, "access_token") || r.get(t, "refresh_token") != answers[0].get(t, "refresh_token") {
				t.Errorf("%d %s; the first got %s", r.status, r.body, answers[0].body)
			}
		}
		if _, err := d.identify(answers[0].get(t, "access_token")); err != nil {
			t.Error(err)
		}
		if r := refreshWith(d, id, answers[0].get(t, "refresh_token")); r.status != 200 {
			t.Errorf("the next refresh: %d %s", r.status, r.body)
		}
	})
	for name, again := range map[string]func(d *desk, id, old, next string) reply{
		"from another address": func(d *desk, id, old, next string) reply {
			d.from = "192.168.1.66:1"
			return refreshWith(d, id, old)
		},
		"later": func(d *desk, id, old, next string) reply {
			time.Sleep(repeatLife + time.Second)
			return refreshWith(d, id, old)
		},
		"after the next one was used": func(d *desk, id, old, next string) reply {
			refreshWith(d, id, next)
			return refreshWith(d, id, old)
		},
		"by another client": func(d *desk, id, old, next string) reply {
			other := d.do("POST", registerPath, "application/json", registration1)
			return refreshWith(d, regexp.MustCompile(`bhc_\w+`).FindString(other.body), old)
		},
	} {
		t.Run(name+": refused", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Config{})
				id, _, refresh := d.paired(t)
				first := refreshWith(d, id, refresh)
				r := again(d, id, refresh, first.get(t, "refresh_token"))
				if r.status != 400 || r.get(t, "error") != "invalid_grant" {
					t.Errorf("%d %s", r.status, r.body)
				}
				if lives := len(d.store.grants) == 1; lives != (name == "by another client") {
					t.Errorf("the grant lives: %v", lives)
				}
				time.Sleep(repeatLife + time.Second)
				d.store.mu.Lock()
				defer d.store.mu.Unlock()
				for _, g := range d.store.grants {
					if g.repeat != nil {
						t.Error("tokens are kept in memory")
					}
				}
			})
		})
	}
}

// A client that comes back for more keeps its grant, with other tokens.
func TestAClientIsApprovedAgain(t *testing.T) {
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	first := d.post(tokenPath, redeem(id, d.approved(t, id, "scope", "board:read")))
	who, err := d.identify(first.get(t, "access_token"))
	if err != nil || who.Scope != Read {
		t.Fatalf("%+v, %v", who, err)
	}
	second := d.post(tokenPath, redeem(id, d.approved(t, id)))
	more, err := d.identify(second.get(t, "access_token"))
	if err != nil || more.Scope != Both || more.ID != who.ID || len(d.store.grants) != 1 {
		t.Errorf("%+v, %v; %d grants", more, err, len(d.store.grants))
	}
	if _, err := d.identify(first.get(t, "access_token")); err != ErrToken {
		t.Errorf("the first token: %v", err)
	}
	if r := refreshWith(d, id, first.get(t, "refresh_token")); r.status != 400 || len(d.store.grants) != 1 {
		t.Errorf("the first refresh token: %d, %d grants", r.status, len(d.store.grants))
	}
	if r := refreshWith(d, id, second.get(t, "refresh_token")); r.status != 200 {
		t.Errorf("the second refresh token: %d %s", r.status, r.body)
	}
	// Programs that one document describes are many.
	d.documents.http = says(200, "application/json", document1)
	for range 2 {
		d.post(tokenPath, redeem(described, d.approved(t, described)))
	}
	if len(d.store.grants) != 3 {
		t.Errorf("%d grants", len(d.store.grants))
	}
}

func TestACodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		code := d.approved(t, id)
		time.Sleep(codeLife)
		if r := d.post(tokenPath, redeem(id, code)); r.status != 400 {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

func TestAGrantThatIsNotUsedExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{})
		id, _, refresh := d.paired(t)
		for range 12 { // used now and then it lasts, and a year at most
			time.Sleep(idleLife - time.Hour)
			r := d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}})
			if r.status != 200 {
				t.Fatalf("%d %s", r.status, r.body)
			}
			refresh = r.get(t, "refresh_token")
		}
		time.Sleep(idleLife)
		if r := d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}}); r.status == 200 {
			t.Errorf("after a year and a month: %s", r.body)
		}
		if list, err := d.store.Grants(); err != nil || len(list) != 0 {
			t.Errorf("grants %v, %v", list, err)
		}
	})
}

func TestConfidentialClientsProveThemselves(t *testing.T) {
	for _, method := range []string{authBasic, authPost, ""} {
		t.Run("registered with "+method, func(t *testing.T) {
			d := newDesk(t, Config{})
			body := `{"redirect_uris":["` + callback + `"]}`
			if method != "" {
				body = `{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"` + method + `"}`
			}
			reg := d.registerClient(t, body)
			id, secret := reg.get(t, "client_id"), reg.get(t, "client_secret")
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
			bad := "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret[1:]))
			code := d.approved(t, id)
			for name, r := range map[string]reply{
				"no secret":     d.post(tokenPath, redeem(id, code)),
				"a wrong one":   d.post(tokenPath, redeem(id, code, "client_secret", secret+"x")),
				"a wrong basic": d.post(tokenPath, redeem(id, code), "Authorization", bad),
				"both ways":     d.post(tokenPath, redeem(id, code, "client_secret", secret), "Authorization", basic),
				"another's id":  d.post(tokenPath, redeem("bhc_other", code), "Authorization", basic),
			} {
				if r.status != 401 || r.get(t, "error") != "invalid_client" {
					t.Errorf("%s: %d %s", name, r.status, r.body)
				}
			}
			v := redeem(id, code)
			v.Del("client_id")
			if r := d.post(tokenPath, v, "Authorization", basic); r.status != 200 {
				t.Errorf("the right secret: %d %s", r.status, r.body)
			}
		})
	}
}

func TestAPersonDecides(t *testing.T) {
	t.Run("to deny", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		req := d.open(t, ask(id))
		v := answered(t, d.post(authorizePath, url.Values{"request": {req}, "decision": {"deny"}}))
		if v.Get("error") != "access_denied" || v.Get("state") != "st&te" || v.Get("iss") != base {
			t.Errorf("answer %v", v)
		}
		if r := d.post(authorizePath, url.Values{"request": {req}, "decision": {"approve"}, "code": {d.code(t)}}); r.status != 410 {
			t.Errorf("approved after it was denied: %d", r.status)
		}
	})
	t.Run("that a client may only look", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		req := d.open(t, ask(id, "scope", "board:write offline_access"))
		code := strings.ToLower(strings.ReplaceAll(d.code(t), "-", " ")) + " " // as a person may type it
		v := answered(t, d.post(authorizePath, url.Values{"request": {req}, "code": {code}, "decision": {"approve"}}))
		r := d.post(tokenPath, redeem(id, v.Get("code")))
		who, err := d.identify(r.get(t, "access_token"))
		if err != nil || who.Scope != Read || who.Scope.Allows(Write) || !who.Scope.Allows(Read) || r.get(t, "scope") != "board:read" {
			t.Errorf("may %v, %v; %s", who.Scope, err, r.body)
		}
		r = d.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {r.get(t, "refresh_token")}, "scope": {"board:write"}})
		if r.status != 400 || r.get(t, "error") != "invalid_scope" {
			t.Errorf("more by a refresh: %d %s", r.status, r.body)
		}
	})
	t.Run("and is not asked again what they took away", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		req := d.open(t, ask(id))
		for _, form := range []url.Values{{"code": {"AAAA-AAAA"}}, {"code": {""}}, {"code": {"AAAA-AAAA"}, "write": {"yes"}}} {
			form.Set("request", req)
			form.Set("decision", "approve")
			r := d.post(authorizePath, form)
			if got := strings.Contains(r.body, `value="yes" checked>`); got != (form.Get("write") != "") || !strings.Contains(r.body, `value="yes"`) {
				t.Errorf("%v: ticked %v", form, got)
			}
		}
	})
	t.Run("and cannot give more than was asked", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		r := d.post(tokenPath, redeem(id, d.approved(t, id, "scope", "board:read")))
		if r.get(t, "scope") != "board:read" {
			t.Errorf("%s", r.body)
		}
	})
	t.Run("once, though two pages are sent at the same time", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		req, code := d.open(t, ask(id)), d.code(t)
		var group sync.WaitGroup
		var mu sync.Mutex
		count := map[int]int{}
		for range 8 {
			group.Go(func() {
				r := d.post(authorizePath, url.Values{"request": {req}, "code": {code}, "decision": {"approve"}})
				mu.Lock()
				count[r.status]++
				mu.Unlock()
			})
		}
		group.Wait()
		if count[303] != 1 || count[410] != 7 {
			t.Errorf("statuses %v", count)
		}
	})
	t.Run("on a page that is loaded again", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		if a, b := d.open(t, ask(id)), d.open(t, ask(id)); a != b || strings.Count(d.text(), "pairing code is") != 1 {
			t.Errorf("two requests: %s", d.text())
		}
	})
	t.Run("within ten minutes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, Config{})
			id := d.registerClient(t, registration1).get(t, "client_id")
			req := d.open(t, ask(id))
			time.Sleep(requestLife)
			if r := d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}}); r.status != 410 {
				t.Errorf("%d", r.status)
			}
		})
	})
}

func TestWrongPairingCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, registration1).get(t, "client_id")
		lockedFor := time.Duration(0)
		for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			req := d.open(t, ask(id, "state", want.String()))
			right := d.code(t)
			for i := range maxWrong {
				r := d.post(authorizePath, url.Values{"request": {req}, "code": {"AAAA-AAAA"}, "decision": {"approve"}})
				if r.status != 403 {
					t.Fatalf("try %d: %d %s", i+1, r.status, r.body)
				}
				if strings.Contains(r.body, right) {
					t.Errorf("the page shows the code: %s", r.body)
				}
			}
			if r := d.post(authorizePath, url.Values{"request": {req}, "code": {right}, "decision": {"approve"}}); r.status != 410 {
				t.Errorf("the right code after %d wrong ones: %d", maxWrong, r.status)
			}
			r := d.do("GET", authorizePath+"?"+ask(id, "state", "locked").Encode(), "", "")
			if r.status != 429 || r.header.Get("Retry-After") != fmt.Sprint(want.Seconds()) {
				t.Errorf("a locked address: %d, Retry-After %s; want %v", r.status, r.header.Get("Retry-After"), want)
			}
			d.from = "192.168.1.10:5000"
			if r := d.do("GET", authorizePath+"?"+ask(id).Encode(), "", ""); r.status != 200 {
				t.Errorf("another address: %d", r.status)
			}
			d.from = "192.168.1.9:5000"
			time.Sleep(want)
			lockedFor += want
		}
	})
}

func TestForeignPagesDecideNothing(t *testing.T) {
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	req := d.open(t, ask(id))
	for name, header := range map[string][]string{
		"another site":           {"Sec-Fetch-Site", "cross-site"},
		"another origin":         {"Origin", "http://evil.example"},
		"a frame without a name": {"Origin", "null"},
		"a sibling":              {"Sec-Fetch-Site", "same-site"},
	} {
		r := d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}}, header...)
		if r.status != 403 {
			t.Errorf("%s: %d", name, r.status)
		}
	}
	if r := d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}}, "Origin", base); r.status != 303 {
		t.Errorf("the board's own page: %d %s", r.status, r.body)
	}
}

func TestThePage(t *testing.T) {
	d := newDesk(t, Config{Name: "pump <house>"})
	id := d.registerClient(t, `{"client_name":"<script>alert(1)</script>\u202e\n\"'&","redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"none"}`).get(t, "client_id")
	r := d.do("GET", authorizePath+"?"+ask(id, "state", `"><script>`).Encode(), "", "")
	for _, bad := range []string{"<script", "\u202e", "<house>", d.code(t)} {
		if strings.Contains(r.body, bad) {
			t.Errorf("the page holds %q: %s", bad, r.body)
		}
	}
	for _, good := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; &#34;&#39;&amp;", "pump &lt;house&gt;", "board:read", "board:write", "127.0.0.1", "request 1"} {
		if !strings.Contains(r.body, good) {
			t.Errorf("the page lacks %q: %s", good, r.body)
		}
	}
	csp := r.header.Get("Content-Security-Policy")
	if csp != "default-src 'none'; style-src "+styleHash+"; form-action 'self' http://127.0.0.1:3000; frame-ancestors 'none'; base-uri 'none'" ||
		r.header.Get("X-Frame-Options") != "DENY" || r.header.Get("X-Content-Type-Options") != "nosniff" ||
		r.header.Get("Cache-Control") != "no-store" || r.header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("headers %v", r.header)
	}
	if strings.ContainsAny(d.text(), "\u202e\n") {
		t.Errorf("the console shows what a client's name does to it: %q", d.text())
	}
}

func TestMetadata(t *testing.T) {
	d := newDesk(t, Config{Name: "pump"})
	for _, path := range []string{resourceWellKnown, resourceWellKnown + "/mcp"} {
		r := d.do("GET", path, "", "")
		if r.status != 200 || r.get(t, "resource") != base+"/mcp" || r.get(t, "authorization_servers") != "["+base+"]" ||
			r.get(t, "scopes_supported") != "[board:read board:write]" || r.get(t, "bearer_methods_supported") != "[header]" || r.get(t, "resource_name") != "pump" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	r := d.do("GET", serverWellKnown, "", "")
	for name, want := range map[string]string{
		"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
		"revocation_endpoint": base + "/revoke", "response_types_supported": "[code]", "code_challenge_methods_supported": "[S256]",
		"grant_types_supported": "[authorization_code refresh_token]", "authorization_response_iss_parameter_supported": "true",
		"client_id_metadata_document_supported": "true", "token_endpoint_auth_methods_supported": "[none client_secret_post client_secret_basic]",
	} {
		if got := r.get(t, name); got != want {
			t.Errorf("%s is %s; want %s", name, got, want)
		}
	}
	behind := newDesk(t, Config{URL: "https://Board.example/"})
	if r := behind.do("GET", serverWellKnown, "", ""); r.get(t, "issuer") != "https://board.example" {
		t.Errorf("behind a proxy: %s", r.body)
	}
}

func TestRefuse(t *testing.T) {
	d := newDesk(t, Config{})
	const where = `resource_metadata="` + base + `/.well-known/oauth-protected-resource/mcp"`
	for _, tt := range []struct {
		name   string
		err    error
		need   Scope
		status int
		want   string
	}{
		{"no token", ErrNoToken, Read, 401, `Bearer ` + where + `, scope="board:read board:write"`},
		{"a bad token", ErrToken, Read, 401, `Bearer error="invalid_token", error_description="` + ErrToken.Error() + `", ` + where + `, scope="board:read board:write"`},
		{"too small a scope", ErrScope, Write, 403, `Bearer error="insufficient_scope", error_description="` + ErrScope.Error() + `", ` + where + `, scope="board:read board:write"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", base+"/mcp", nil)
			w := httptest.NewRecorder()
			d.Refuse(w, r, tt.need, tt.err)
			if got := w.Result().Header.Get("WWW-Authenticate"); w.Code != tt.status || got != tt.want {
				t.Errorf("%d %s\nwant %d %s", w.Code, got, tt.status, tt.want)
			}
		})
	}
}

func TestTheStaticBearer(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	d := newDesk(t, Config{Bearer: token})
	if who, err := d.identify(token); err != nil || who != (Identity{"environment", Both}) || !d.Lives(who.ID) {
		t.Errorf("%+v, %v", who, err)
	}
	for _, bad := range []string{"", token[1:], token + "0", " " + token, token + "\x00", strings.Repeat("a", 10000)} {
		if who, err := d.identify(bad); err == nil {
			t.Errorf("%.50q is taken as %+v", bad, who)
		}
	}
	for _, bad := range []string{"short", strings.Repeat("a", 19), "with a space in it, and so on", strings.Repeat("a", 300)} {
		if _, err := New(Config{Bearer: bad}); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%.50q: %v", bad, err)
		}
	}
	if newDesk(t, Config{}).Lives("environment") {
		t.Error("without one, it lives")
	}
}

func TestATokenHoldsAtItsAddressOnly(t *testing.T) {
	d := newDesk(t, Config{})
	_, access, _ := d.paired(t)
	for _, tt := range []struct {
		url string
		ok  bool
	}{{base + "/mcp", true}, {"http://BOARD.local:8377/mcp", true}, {"http://board.local/mcp", false}, {"http://other:8377/mcp", false}, {"https://board.local:8377/mcp", false}} {
		r := httptest.NewRequest("POST", tt.url, nil)
		r.Header.Set("Authorization", "bearer "+access)
		if _, err := d.Identify(r); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.url, err)
		}
	}
	twice := httptest.NewRequest("POST", base+"/mcp", nil)
	twice.Header["Authorization"] = []string{"Bearer " + access, "Bearer " + access}
	if _, err := d.Identify(twice); err != ErrToken {
		t.Errorf("two headers: %v", err)
	}
}

func TestIdentifyAllocatesNothing(t *testing.T) {
	store, err := OpenStore(filepath.Join(t.TempDir(), "tokens.json"), func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, Config{Store: store})
	_, access, _ := d.paired(t)
	r := httptest.NewRequest("POST", base+"/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+access)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := d.Identify(r); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 { // the file is looked at once a second
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIdentify(b *testing.B) {
	store, err := OpenStore(filepath.Join(b.TempDir(), "tokens.json"), nil)
	if err != nil {
		b.Fatal(err)
	}
	d := newDesk(b, Config{Store: store})
	_, access, _ := d.paired(b)
	r := httptest.NewRequest("POST", base+"/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+access)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Identify(r); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRevocation(t *testing.T) {
	for _, which := range []string{"access", "refresh"} {
		t.Run("by the "+which+" token", func(t *testing.T) {
			d := newDesk(t, Config{})
			id, access, refresh := d.paired(t)
			token := map[string]string{"access": access, "refresh": refresh}[which]
			other := d.registerClient(t, registration1).get(t, "client_id")
			if r := d.post(revokePath, url.Values{"token": {token}, "client_id": {other}}); r.status != 400 {
				t.Errorf("by another client: %d", r.status)
			}
			if r := d.post(revokePath, url.Values{"token": {token}, "client_id": {"bhc_nobody"}}); r.status != 401 {
				t.Errorf("by nobody: %d", r.status)
			}
			if r := d.post(revokePath, url.Values{"token": {"bha_unknown"}, "client_id": {id}}); r.status != 200 {
				t.Errorf("an unknown token: %d", r.status)
			}
			if _, err := d.identify(access); err != nil {
				t.Fatalf("revoked too early: %v", err)
			}
			if r := d.post(revokePath, url.Values{"token": {token}, "client_id": {id}, "token_type_hint": {"whatever"}}); r.status != 200 || r.body != "" {
				t.Errorf("%d %s", r.status, r.body)
			}
			if _, err := d.identify(access); err != ErrToken {
				t.Errorf("after it: %v", err)
			}
			if r := d.post(revokePath, url.Values{"token": {token}, "client_id": {id}}); r.status != 200 {
				t.Errorf("again: %d", r.status)
			}
		})
	}
}

func TestRateLimits(t *testing.T) {
	for path, r := range newDesk(t, Config{}).routes {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Config{})
				refused := 0
				for range 200 {
					if got := d.do(r.methods[0], path, "", ""); got.status == 429 {
						refused++
						if got.header.Get("Retry-After") == "" {
							t.Fatal("no Retry-After")
						}
					}
				}
				if want := 200 - r.limit.each.burst; refused != want {
					t.Errorf("%d of 200 refused; want %d", refused, want)
				}
				d.from = "192.168.1.77:1"
				if got := d.do(r.methods[0], path, "", ""); got.status == 429 {
					t.Error("another address is refused")
				}
				d.from = "192.168.1.9:1"
				time.Sleep(r.limit.each.every)
				if got := d.do(r.methods[0], path, "", ""); got.status == 429 {
					t.Error("refused after a pause")
				}
			})
		})
	}
}

func TestEnoughIsEnough(t *testing.T) {
	t.Run("requests that wait", func(t *testing.T) {
		var q requests
		for i := range 1000 {
			q.add(&request{query: digestOf(fmt.Sprint(i)), peer: peerOf(fmt.Sprintf("10.1.%d.1", i%200))})
		}
		if len(q.list) > maxRequests {
			t.Errorf("%d requests wait", len(q.list))
		}
		q = requests{}
		mine, _ := q.add(&request{query: digestOf("mine"), peer: peerOf("10.0.0.1")})
		for i := range 1000 {
			q.add(&request{query: digestOf(fmt.Sprint(i)), peer: peerOf(fmt.Sprintf("10.1.0.%d", i%20))})
		}
		if len(q.list) > maxRequests || q.get(mine.id) == nil {
			t.Errorf("%d requests wait; that of one who asked once: %v", len(q.list), q.get(mine.id) != nil)
		}
	})
	t.Run("registrations", func(t *testing.T) {
		var r registered
		for i := range 1000 {
			r.add(&client{id: fmt.Sprint(i)})
		}
		if len(r.clients) > maxRegistered || r.get("999") == nil {
			t.Errorf("%d clients", len(r.clients))
		}
	})
	t.Run("codes", func(t *testing.T) {
		var c codes
		last := ""
		for range 1000 {
			last = c.add(&authorization{})
		}
		if len(c.list) > maxCodes || c.get(last) == nil {
			t.Errorf("%d codes", len(c.list))
		}
	})
	t.Run("addresses", func(t *testing.T) {
		l := limiter{each: allowance{1, time.Hour}, all: allowance{1 << 20, time.Nanosecond}}
		var k lockouts
		for i := range 5000 {
			addr := peerOf(fmt.Sprintf("10.%d.%d.1", i/256, i%256))
			l.take(addr)
			k.wrong(addr)
		}
		if len(l.peers) > maxPeers+1 || len(k.peers) > maxPeers+1 {
			t.Errorf("%d and %d addresses", len(l.peers), len(k.peers))
		}
		if l.take(peerOf("172.16.0.1")) == 0 || k.wait(peerOf("172.16.0.1")) == 0 {
			t.Error("addresses beyond the limit do not share an allowance")
		}
	})
	t.Run("grants", func(t *testing.T) {
		d := newDesk(t, Config{})
		for range maxGrants {
			g := newGrant(&client{id: "a"}, d.store.grants)
			g.Created = time.Now()
			g.issue(newCode())
			d.store.grants[g.ID] = g
		}
		id := d.registerClient(t, registration1).get(t, "client_id")
		req := d.open(t, ask(id))
		r := d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}})
		if r.status != 503 || !strings.Contains(r.body, "boardhand tokens revoke") {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

func peerOf(addr string) netip.Addr { return netip.MustParseAddr(addr) }
