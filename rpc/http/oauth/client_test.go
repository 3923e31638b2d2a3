package oauth

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestRedirectAddresses(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"https://app.example/back", true}, {"https://app.example:8443/back?x=1", true}, {"http://localhost:3000/", true}, {"http://127.0.0.1/cb", true},
		{"http://[::1]:9/cb", true}, {"http://LOCALHOST/cb", true},
		{"http://app.example/back", false}, {"http://localhost.evil.example/", false}, {"http://127.0.0.1.evil.example/", false}, {"http://127.1/", false},
		{"http://192.168.1.5/cb", false}, {"cursor://callback", false}, {"javascript:alert(1)", false}, {"data:text/html,x", false}, {"file:///etc/passwd", false},
		{"https://app.example/#f", false}, {"https://app.example/#", false}, {"https://user:pw@app.example/", false}, {"//app.example/", false}, {"/back", false},
		{"https:///back", false}, {"https://app.example/\r\nSet-Cookie: a=b", false}, {"https://app.example/ x", false}, {"https://app.example;script-src/", false},
		{"https://a.example, https://b.example/", false}, {"https://\u00e4pp.example/", false}, {"https://app.example/" + strings.Repeat("a", maxURL), false}, {"", false},
	} {
		if err := checkRedirect(tt.text); (err == nil) != tt.ok {
			t.Errorf("%.80q: %v", tt.text, err)
		}
	}
}

func TestAnswersGoToRegisteredAddressesOnly(t *testing.T) {
	c := &client{redirects: []string{"http://127.0.0.1:3000/cb", "https://app.example/back?a=1", "http://localhost/cb"}}
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"http://127.0.0.1:3000/cb", true}, {"http://127.0.0.1:51234/cb", true}, {"http://127.0.0.1/cb", true}, {"http://localhost:8/cb", true}, {"https://app.example/back?a=1", true},
		{"http://127.0.0.2:3000/cb", false}, {"http://[::1]:3000/cb", false}, {"http://127.0.0.1:3000/cb/", false}, {"http://127.0.0.1:3000/cb?x", false},
		{"http://127.0.0.1:3000/CB", false}, {"https://127.0.0.1:3000/cb", false}, {"https://app.example/back", false}, {"https://app.example:444/back?a=1", false},
		{"https://APP.example/back?a=1", false}, {"https://app.example/back?a=1&b=2", false}, {"https://app.example/x/../back?a=1", false},
		{"http://127.0.0.1:3000@evil.example/cb", false}, {"http://127.0.0.1:3000/cb#f", false}, {"", false},
	} {
		if got := c.allows(tt.text); got != tt.ok {
			t.Errorf("%q: %v", tt.text, got)
		}
	}
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	r := d.do("GET", authorizePath+"?"+ask(id, "redirect_uri", "https://evil.example/").Encode(), "", "")
	if r.status != 400 || r.header.Get("Location") != "" {
		t.Errorf("%d %v", r.status, r.header)
	}
}

func TestRegistrationsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ body, code string }{
		"no JSON":              {"{", "invalid_client_metadata"},
		"a list":               {"[]", "invalid_client_metadata"},
		"too deep":             {strings.Repeat("[", 100) + strings.Repeat("]", 100), "invalid_client_metadata"},
		"too many values":      {`{"x":[` + strings.Repeat("0,", 300) + "0]}", "invalid_client_metadata"},
		"too long":             {`{"x":"` + strings.Repeat("x", maxRegister) + `"}`, "invalid_client_metadata"},
		"no address":           {`{}`, "invalid_redirect_uri"},
		"an empty list":        {`{"redirect_uris":[]}`, "invalid_redirect_uri"},
		"a number":             {`{"redirect_uris":[1]}`, "invalid_redirect_uri"},
		"too many addresses":   {`{"redirect_uris":["` + strings.Repeat(callback+`","`, maxRedirects) + callback + `"]}`, "invalid_redirect_uri"},
		"one that is refused":  {`{"redirect_uris":["` + callback + `","http://app.example/"]}`, "invalid_redirect_uri"},
		"another grant":        {`{"redirect_uris":["` + callback + `"],"grant_types":["client_credentials"]}`, "invalid_client_metadata"},
		"the implicit grant":   {`{"redirect_uris":["` + callback + `"],"response_types":["token"]}`, "invalid_client_metadata"},
		"another proof":        {`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt"}`, "invalid_client_metadata"},
		"a proof that is null": {`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":null}`, "invalid_client_metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Config{})
			r := d.do("POST", registerPath, "application/json", tt.body)
			if r.status != 400 || r.get(t, "error") != tt.code || r.get(t, "error_description") == "" || len(d.registered.clients) != 0 {
				t.Errorf("%d %s; want %s", r.status, r.body, tt.code)
			}
		})
	}
	d := newDesk(t, Config{})
	if r := d.do("POST", registerPath, "text/plain", registration1); r.status != 400 {
		t.Errorf("as text/plain, which a foreign page may send: %d", r.status)
	}
}

// What is wrong with a request is told on the page while it is not known whose it is,
// and to the client after that.
func TestRequestsThatAreRefused(t *testing.T) {
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	for name, tt := range map[string]struct{ key, value, code string }{
		"another response":       {"response_type", "token", "unsupported_response_type"},
		"no response type":       {"response_type", "", "unsupported_response_type"},
		"a fragment":             {"response_mode", "fragment", "invalid_request"},
		"no challenge":           {"code_challenge", "", "invalid_request"},
		"a plain challenge":      {"code_challenge_method", "plain", "invalid_request"},
		"no method":              {"code_challenge_method", "", "invalid_request"},
		"a challenge too short":  {"code_challenge", challenge[1:], "invalid_request"},
		"a challenge that is ++": {"code_challenge", "+" + challenge[1:], "invalid_request"},
		"another's resource":     {"resource", "https://other.example/mcp", "invalid_target"},
		"another path":           {"resource", base + "/other", "invalid_target"},
		"another port":           {"resource", "http://board.local:1/mcp", "invalid_target"},
		"a scope of nothing":     {"scope", "openid", "invalid_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			d.routes[authorizePath].limit.total, d.routes[authorizePath].limit.peers = bucket{}, nil
			v := answered(t, d.do("GET", authorizePath+"?"+ask(id, tt.key, tt.value).Encode(), "", ""))
			if v.Get("error") != tt.code || v.Get("iss") != base || v.Get("state") != "st&te" || v.Get("code") != "" {
				t.Errorf("%v; want %s", v, tt.code)
			}
		})
	}
	for name, query := range map[string]string{
		"nothing":              "",
		"a parameter twice":    ask(id).Encode() + "&state=2",
		"bad encoding":         "client_id=%zz",
		"too long":             ask(id, "x", strings.Repeat("a", maxQuery)).Encode(),
		"nobody":               ask("bhc_nobody").Encode(),
		"no client":            ask("").Encode(),
		"a site, which is not": ask(id, "redirect_uri", "https://evil.example", "response_type", "token").Encode(),
	} {
		t.Run(name, func(t *testing.T) {
			d.routes[authorizePath].limit.total, d.routes[authorizePath].limit.peers = bucket{}, nil
			if r := d.do("GET", authorizePath+"?"+query, "", ""); r.status != 400 || r.header.Get("Location") != "" {
				t.Errorf("%d %v", r.status, r.header)
			}
		})
	}
	t.Run("a web site is not sent an error unasked", func(t *testing.T) {
		d := newDesk(t, Config{})
		id := d.registerClient(t, `{"redirect_uris":["https://app.example/back"],"token_endpoint_auth_method":"none"}`).get(t, "client_id")
		r := d.do("GET", authorizePath+"?"+ask(id, "redirect_uri", "https://app.example/back", "response_type", "token").Encode(), "", "")
		if r.status != 400 || r.header.Get("Location") != "" {
			t.Errorf("%d %v", r.status, r.header)
		}
	})
	t.Run("a state too long", func(t *testing.T) {
		v := answered(t, d.do("GET", authorizePath+"?"+ask(id, "state", strings.Repeat("s", maxState+1)).Encode(), "", ""))
		if v.Get("error") != "invalid_request" || v.Get("state") != "" {
			t.Errorf("%v", v)
		}
	})
}

func TestTokenRequestsThatAreRefused(t *testing.T) {
	d := newDesk(t, Config{})
	id := d.registerClient(t, registration1).get(t, "client_id")
	other := d.registerClient(t, registration1).get(t, "client_id")
	code := d.approved(t, id)
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		code   string
	}{
		"no grant type":           {url.Values{"client_id": {id}}, 400, "invalid_request"},
		"another grant type":      {url.Values{"client_id": {id}, "grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"nobody":                  {redeem("bhc_nobody", code), 401, "invalid_client"},
		"another client":          {redeem(other, code), 400, "invalid_grant"},
		"no code":                 {redeem(id, ""), 400, "invalid_request"},
		"another code":            {redeem(id, "ABC"), 400, "invalid_grant"},
		"another verifier":        {redeem(id, code, "code_verifier", verifier[1:]+"A"), 400, "invalid_grant"},
		"no verifier":             {redeem(id, code, "code_verifier", ""), 400, "invalid_request"},
		"a verifier too long":     {redeem(id, code, "code_verifier", strings.Repeat("a", 129)), 400, "invalid_request"},
		"the challenge itself":    {redeem(id, code, "code_verifier", challenge), 400, "invalid_grant"},
		"another address":         {redeem(id, code, "redirect_uri", callback+"2"), 400, "invalid_grant"},
		"another resource":        {redeem(id, code, "resource", "https://other.example/mcp"), 400, "invalid_target"},
		"no refresh token":        {url.Values{"client_id": {id}, "grant_type": {"refresh_token"}}, 400, "invalid_request"},
		"another refresh token":   {url.Values{"client_id": {id}, "grant_type": {"refresh_token"}, "refresh_token": {"bhr_x"}}, 400, "invalid_grant"},
		"a code as refresh token": {url.Values{"client_id": {id}, "grant_type": {"refresh_token"}, "refresh_token": {code}}, 400, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			r := d.post(tokenPath, tt.form)
			if r.status != tt.status || r.get(t, "error") != tt.code || r.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %s; want %d %s", r.status, r.body, tt.status, tt.code)
			}
		})
	}
	d.routes[tokenPath].limit.peers = nil
	if r := d.do("POST", tokenPath+"?"+redeem(id, code).Encode(), "application/x-www-form-urlencoded", ""); r.status != 400 {
		t.Errorf("parameters in the address: %d", r.status)
	}
	if r := d.do("POST", tokenPath, "application/x-www-form-urlencoded", redeem(id, code).Encode()+"&code=x"); r.status != 400 {
		t.Errorf("a parameter twice: %d", r.status)
	}
	if r := d.do("POST", tokenPath, "application/json", "{}"); r.status != 400 {
		t.Errorf("as JSON: %d", r.status)
	}
	if r := d.post(tokenPath, redeem(id, code, "x", strings.Repeat("x", maxForm))); r.status != 400 {
		t.Errorf("too long: %d", r.status)
	}
	if r := d.post(tokenPath, redeem(id, code)); r.status != 200 {
		t.Errorf("the right one after all these: %d %s", r.status, r.body)
	}
}

func FuzzShowable(f *testing.F) {
	for _, name := range []string{"", "App", "a\u202eb", "a\x00\n\r b", "\xff\xfe", strings.Repeat("\u4e16", 100), "<b>", "a\u200b\u0301"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := showable(name)
		if got == "" || !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxName+1 || strings.TrimSpace(got) != got {
			t.Fatalf("%q becomes %q", name, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q becomes %q, which holds %q", name, got, r)
			}
		}
	})
}

// Whatever is registered, what comes back is JSON, and every address in it may be
// put into a header and a policy as it is.
func FuzzRegister(f *testing.F) {
	f.Add(registration1)
	f.Add(`{"redirect_uris":["https://app.example/back?x=%0a"],"client_name":1}`)
	f.Add(`{"redirect_uris":["http://[::1]:3/"],"client_name":"\u202e"}`)
	f.Fuzz(func(t *testing.T, body string) {
		d := newDesk(t, Config{})
		r := d.do("POST", registerPath, "application/json", body)
		if !json.Valid([]byte(r.body)) || r.status != 201 && r.status != 400 {
			t.Fatalf("%q: %d %s", body, r.status, r.body)
		}
		for _, c := range d.registered.clients {
			for _, to := range c.redirects {
				if strings.ContainsAny(to, " ;,'\"<>\r\n") || !strings.HasPrefix(source(to), " http") || strings.ContainsAny(source(to)[1:], " ;") {
					t.Fatalf("%q is allowed", to)
				}
			}
		}
	})
}

func FuzzRedirect(f *testing.F) {
	for _, text := range []string{callback, "https://app.example/back", "http://127.0.0.1:3000@evil.example/", "http://localhost:1\\@evil.example/", "https://a.example%2f@b/"} {
		f.Add(text)
	}
	c := &client{redirects: []string{callback, "https://app.example/back"}}
	f.Fuzz(func(t *testing.T, text string) {
		if !c.allows(text) {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() != "127.0.0.1" && text != "https://app.example/back" || u.Path != "/callback" && u.Path != "/back" {
			t.Fatalf("%q is allowed", text)
		}
	})
}

// Whatever is asked, the browser is sent to a registered address only, and the page
// holds no script.
func FuzzAuthorize(f *testing.F) {
	f.Add(ask("ID").Encode())
	f.Add(ask("ID", "redirect_uri", "").Encode())
	f.Add(ask("ID", "redirect_uri", "http://127.0.0.1:1/callback", "scope", "board:read", "state", "\"><script>").Encode())
	f.Add(ask("ID", "response_type", "token", "resource", "http://x").Encode())
	f.Add("client_id=ID&client_id=ID")
	f.Add("client_id=https://app.example/c")
	f.Fuzz(func(t *testing.T, query string) {
		d := newDesk(t, Config{})
		d.documents.http = says(404, "", "")
		id := d.registerClient(t, registration1).get(t, "client_id")
		r := d.do("GET", authorizePath+"?"+strings.ReplaceAll(query, "ID", id), "", "")
		to := r.header.Get("Location")
		u, err := url.Parse(to)
		switch {
		case r.status == 303 && (err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/callback" || u.Query().Get("error") == "" || u.Query().Get("iss") != base):
			t.Fatalf("%q: sent to %s", query, to)
		case r.status != 303 && (to != "" || strings.Contains(r.body, "<script")):
			t.Fatalf("%q: %d %s %s", query, r.status, to, r.body)
		case r.status != 200 && r.status != 303 && r.status != 400:
			t.Fatalf("%q: %d", query, r.status)
		}
	})
}
