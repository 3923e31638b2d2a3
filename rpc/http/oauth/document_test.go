package oauth

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const described = "https://app.example/client.json"

// site answers for the host of a document.
type site func(*http.Request) (*http.Response, error)

func (s site) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func says(status int, media, body string, header ...string) site {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {media}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

const document1 = `{"client_id":"` + described + `","client_name":"App","redirect_uris":["` + callback + `","https://app.example/back"],"grant_types":["authorization_code"],"token_endpoint_auth_method":"none"}`

func TestAClientThatADocumentDescribes(t *testing.T) {
	d := newDesk(t, Config{Store: openStore(t, t.TempDir()+"/tokens.json")})
	d.documents.http = says(200, "application/json; charset=utf-8", document1)
	r := d.do("GET", authorizePath+"?"+ask(described).Encode(), "", "")
	for _, text := range []string{"App", "what app.example says", "127.0.0.1"} {
		if r.status != 200 || !strings.Contains(r.body, text) {
			t.Errorf("the page lacks %q: %d %s", text, r.status, r.body)
		}
	}
	r = d.post(tokenPath, redeem(described, d.approved(t, described)))
	if _, err := d.identify(r.get(t, "access_token")); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	// To refresh and to revoke the board need not ask again, nor after a restart.
	d.documents.http = site(func(*http.Request) (*http.Response, error) {
		t.Error("asked again")
		return nil, errors.New("no")
	})
	d.documents.known = nil
	refresh := r.get(t, "refresh_token")
	if r = refreshWith(d, described, refresh); r.status != 200 {
		t.Errorf("refresh: %d %s", r.status, r.body)
	}
	if r := d.post(revokePath, url.Values{"client_id": {described}, "token": {r.get(t, "access_token")}}); r.status != 200 {
		t.Errorf("revoke: %d %s", r.status, r.body)
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		site site
		want string
	}{
		"a redirect is not followed": {says(302, "text/html", "", "Location", "https://192.168.1.1/"), "answers 302"},
		"nothing there":              {says(404, "text/html", ""), "answers 404"},
		"a web page":                 {says(200, "text/html", "<html>"), "no JSON"},
		"too long":                   {says(200, "application/json", strings.Repeat(" ", maxDocument+1)), "more than 16384 bytes"},
		"no JSON":                    {says(200, "application/json", "{"), "app.example"},
		"a list":                     {says(200, "application/json", "[]"), "no object"},
		"too deep":                   {says(200, "application/json", strings.Repeat("[", 20)+strings.Repeat("]", 20)), "levels"},
		"another's":                  {says(200, "application/json", strings.Replace(document1, "client.json", "other.json", 1)), "the document's own address"},
		"no name":                    {says(200, "application/json", strings.Replace(document1, `"client_name":"App",`, "", 1)), "no client_name"},
		"a secret":                   {says(200, "application/json", strings.Replace(document1, `{`, `{"client_secret":"x",`, 1)), "client_secret"},
		"a key":                      {says(200, "application/json", strings.Replace(document1, `"none"`, `"private_key_jwt"`, 1)), "private_key_jwt"},
		"a shared secret":            {says(200, "application/json", strings.Replace(document1, `"none"`, `"client_secret_post"`, 1)), "client_secret_post"},
		"no way back":                {says(200, "application/json", strings.Replace(document1, callback, "http://app.example/", 1)), "neither https nor http on localhost"},
		"a body that breaks off": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), broken{}))}, nil
		}, "cannot reach it"},
		"no network":   {func(*http.Request) (*http.Response, error) { return nil, &net.DNSError{Err: "no such host"} }, "cannot find it by name"},
		"a private IP": {func(*http.Request) (*http.Response, error) { return nil, &privateError{"10.0.0.1:443"} }, "no public address"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Config{})
			d.documents.http = tt.site
			r := d.do("GET", authorizePath+"?"+ask(described).Encode(), "", "")
			if r.status != 400 || !strings.Contains(r.text(), tt.want) || strings.Contains(d.text(), "pairing code") {
				t.Errorf("%d %s; want %q", r.status, r.text(), tt.want)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("reset") }

func TestClientIDsThatAreNoDocument(t *testing.T) {
	for _, id := range []string{
		"https://app.example", "https://app.example/", "https://app.example:8443/c", "https://user@app.example/c", "https://app.example/c#f",
		"https://app.example/../c", "https://app.example/a//c", "https://app.example/./c", "https://127.0.0.1/c", "https://[::1]/c",
		"https://localhost/c", "https://board/c", "https://2130706433/c", "https:///c", "https://app.example/" + strings.Repeat("a", maxURL),
		"https://app.example/c\x00", "https://app.example/\u00e9",
	} {
		d := newDesk(t, Config{})
		d.documents.http = site(func(r *http.Request) (*http.Response, error) {
			t.Errorf("%.60q: asked %s", id, r.URL)
			return nil, errors.New("no")
		})
		if r := d.do("GET", authorizePath+"?"+ask(id).Encode(), "", ""); r.status != 400 {
			t.Errorf("%.60q: %d", id, r.status)
		}
	}
	// http is no document; it is a client that never registered.
	d := newDesk(t, Config{})
	if r := d.do("GET", authorizePath+"?"+ask("http://app.example/c").Encode(), "", ""); r.status != 400 || !strings.Contains(r.body, "not registered") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestADocumentIsAskedForSeldom(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": time.Hour, "max-age=60": minFresh, "public, max-age=7200": 2 * time.Hour, "max-age=99999999": maxFresh, "no-store": minFresh, "max-age=x": time.Hour,
	} {
		t.Run("Cache-Control: "+header, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, Config{})
				asked := 0
				d.documents.http = site(func(r *http.Request) (*http.Response, error) {
					asked++
					return says(200, "application/json", document1, "Cache-Control", header)(r)
				})
				d.open(t, ask(described))
				time.Sleep(want - time.Second)
				d.open(t, ask(described, "state", "2"))
				if asked != 1 {
					t.Errorf("asked %d times within %v", asked, want)
				}
				time.Sleep(2 * time.Second)
				d.open(t, ask(described, "state", "3"))
				if asked != 2 {
					t.Errorf("asked %d times after %v", asked, want)
				}
			})
		})
	}
}

func TestADocumentIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{})
		d.documents.http = site(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		replies := make(chan reply)
		for i := range maxFetches + 1 {
			go func() {
				replies <- d.do("GET", authorizePath+"?"+ask("https://app.example/"+string(rune('a'+i))).Encode(), "", "")
			}()
		}
		busy := 0
		for range maxFetches + 1 {
			if r := <-replies; r.status != 400 {
				t.Errorf("%d %s", r.status, r.body)
			} else if strings.Contains(r.body, "being fetched already") {
				busy++
			}
		}
		if took := time.Since(began); took != fetchTime || busy != 1 {
			t.Errorf("took %v, %d told to come again; want %v and 1", took, busy, fetchTime)
		}
		// A board that finds no internet does not ask for such clients for a while.
		flag := func() string {
			return d.do("GET", serverWellKnown, "", "").get(t, "client_id_metadata_document_supported")
		}
		if flag() != "false" {
			t.Error("such clients are asked for at once")
		}
		time.Sleep(offlinePeriod + time.Second)
		if flag() != "true" {
			t.Error("such clients are not asked for any more")
		}
	})
}

func TestDocumentsAreBounded(t *testing.T) {
	d := newDesk(t, Config{})
	for i := range 5 * maxDocuments {
		d.documents.keep(described+strings.Repeat("x", i), document{until: time.Now().Add(time.Hour)})
	}
	if len(d.documents.known) > maxDocuments {
		t.Errorf("%d are kept", len(d.documents.known))
	}
}

func TestOnlyPublicAddressesAreAsked(t *testing.T) {
	for _, tt := range []struct {
		addr string
		ok   bool
	}{
		{"1.1.1.1", true}, {"93.184.215.14", true}, {"2606:4700::1111", true}, {"172.32.0.1", true},
		{"127.0.0.1", false}, {"127.8.9.10", false}, {"10.0.0.1", false}, {"172.16.0.1", false}, {"192.168.1.1", false}, {"169.254.169.254", false},
		{"100.64.0.1", false}, {"0.0.0.0", false}, {"0.1.2.3", false}, {"224.0.0.1", false}, {"255.255.255.255", false}, {"240.0.0.1", false},
		{"192.0.2.1", false}, {"198.18.0.1", false}, {"192.0.0.8", false},
		{"::", false}, {"::1", false}, {"::ffff:127.0.0.1", false}, {"::ffff:10.0.0.1", false}, {"::127.0.0.1", false}, {"64:ff9b::7f00:1", false},
		{"2002:7f00:1::", false}, {"2001:0:7f00:1::", false}, {"fe80::1", false}, {"fc00::1", false}, {"fd12::1", false}, {"ff02::1", false}, {"2001:db8::1", false},
	} {
		if got := isPublic(netip.MustParseAddr(tt.addr)); got != tt.ok {
			t.Errorf("%s: %v; want %v", tt.addr, got, tt.ok)
		}
	}
}

// Whatever a name resolves to, the board's own network is not asked: nothing arrives
// at a server there.
func TestTheBoardsOwnNetworkIsNotAsked(t *testing.T) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	_, port, _ := net.SplitHostPort(own.Addr().String())
	for _, address := range []string{own.Addr().String(), "localhost:" + port, "localhost:443", "127.0.0.1:443", "[::1]:443", "169.254.169.254:443", "10.0.0.1:443", "1.1.1.1:80"} {
		conn, err := careful.DialContext(t.Context(), "tcp", address)
		if conn != nil {
			conn.Close()
		}
		var private *privateError
		if !errors.As(err, &private) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if careful.Proxy != nil {
		t.Error("a proxy would ask whatever it is told to")
	}
}

func TestACertificateThatDoesNotHold(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, document1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	transport := careful.Clone()
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("tcp", server.Listener.Addr().String())
	}
	d := newDesk(t, Config{})
	d.documents.http = transport
	for id, want := range map[string]string{"https://example.com/c": "no authority for its certificate", "https://example.org/c": "for another name"} {
		r := d.do("GET", authorizePath+"?"+ask(id).Encode(), "", "")
		if r.status != 400 || !strings.Contains(r.text(), want) {
			t.Errorf("%s: %d %s; want %q", id, r.status, r.text(), want)
		}
	}
}
