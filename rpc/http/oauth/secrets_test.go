package oauth

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every path through the package is gone here with known secrets, and none of them is
// found afterwards where it does not belong: on the console, in the file, in an
// answer to someone else.
func TestNoSecretIsWrittenDown(t *testing.T) {
	const static = "SECRET-bearer-of-the-environment"
	path := filepath.Join(t.TempDir(), "tokens.json")
	d := newDesk(t, Config{Store: openStore(t, path), Bearer: static})
	d.documents.http = says(200, "application/json", document1)
	secrets := map[string]string{"the bearer of the environment": static, "the verifier": verifier}
	var others []string // answers to requests that hold a secret which is not right

	for _, method := range []string{authNone, authPost} {
		d.from = "192.168.1.9:5000"
		reg := d.registerClient(t, `{"client_name":"App","redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"`+method+`"}`)
		id, proof := reg.get(t, "client_id"), reg.get(t, "client_secret")
		with := func(v url.Values) url.Values {
			if proof != "" {
				v.Set("client_secret", proof)
			}
			return v
		}
		if proof != "" {
			secrets["the client's"] = proof
			bad := redeem(id, "x")
			bad.Set("client_secret", "SECRET-wrong-client")
			secrets["a wrong client's"] = "SECRET-wrong-client"
			others = append(others, d.post(tokenPath, bad).body)
		}
		req := d.open(t, ask(id, "state", "SECRET-state-"+method))
		secrets["the state, "+method] = "SECRET-state-" + method
		secrets["the form's request, "+method] = req
		others = append(others, d.post(authorizePath, url.Values{"request": {req}, "code": {"SECR-ETCD"}, "decision": {"approve"}}).body)
		secrets["a wrong pairing code"] = "SECR-ETCD"
		code := answered(t, d.post(authorizePath, url.Values{"request": {req}, "code": {d.code(t)}, "decision": {"approve"}, "write": {"1"}})).Get("code")
		secrets["the authorization code, "+method] = code
		others = append(others, d.post(tokenPath, with(redeem(id, code, "code_verifier", strings.Repeat("S", 43)))).body)
		r := d.post(tokenPath, with(redeem(id, code)))
		access, refresh := r.get(t, "access_token"), r.get(t, "refresh_token")
		secrets["the access token, "+method], secrets["the refresh token, "+method] = access, refresh
		r = d.post(tokenPath, with(url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}}))
		secrets["the second access token, "+method], secrets["the second refresh token, "+method] = r.get(t, "access_token"), r.get(t, "refresh_token")
		secrets["the family, "+method] = refresh[len(refreshPrefix) : len(refreshPrefix)+secretLen]
		d.from = "192.168.1.66:1" // so that it is a thief's
		others = append(others,
			d.post(tokenPath, with(url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {refresh}})).body, // stolen
			d.post(tokenPath, with(redeem(id, code))).body, // stolen
			d.post(revokePath, with(url.Values{"client_id": {id}, "token": {access}})).body)
	}
	r := d.post(tokenPath, redeem(described, d.approved(t, described)))
	secrets["a described client's access token"], secrets["its refresh token"] = r.get(t, "access_token"), r.get(t, "refresh_token")

	for _, token := range []string{"SECRET-of-nothing", strings.Repeat("SECRET", 100), "SECRET\x7f"} {
		secrets[token] = token
		_, err := d.identify(token)
		w := httptest.NewRecorder()
		d.Refuse(w, httptest.NewRequest("POST", base+"/mcp", nil), Read, err)
		others = append(others, w.Body.String(), w.Result().Header.Get("WWW-Authenticate"))
	}
	others = append(others, d.do("GET", authorizePath+"?"+ask("bhc_nobody", "state", "SECRET-state-none").Encode(), "", "").body)

	file, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(file), described) {
		t.Fatalf("the file: %v, %s", err, file)
	}
	// Now the file cannot be read.
	if err := os.WriteFile(path, []byte(`{"version":1,"grants":[{"access":"SECRET-in-a-damaged-file"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.store.looked = d.store.looked.Add(-lookEvery)
	_, err = d.store.Grants()
	if err == nil {
		t.Error("a damaged file is read")
	} else {
		d.console.say(err.Error())
	}
	_, refused := New(Config{Bearer: "SECRET but no token, for it has spaces"})
	if refused == nil {
		t.Error("it is taken as a bearer")
	}
	others = append(others, errors.Join(refused, err).Error())

	secrets["of a damaged file"] = "SECRET"
	for name, secret := range secrets {
		if secret == "" {
			t.Errorf("%s is not there", name)
		}
		for where, text := range map[string]string{"the console": d.text(), "the file": string(file), "an answer": strings.Join(others, "\n")} {
			if strings.Contains(where, "answer") && strings.HasPrefix(name, "the form's request") {
				continue // it is the page's own
			}
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", name, where)
			}
		}
	}
}

func TestPairingCodes(t *testing.T) {
	seen := map[string]bool{}
	letters := map[rune]int{}
	for range 4096 {
		code := newCode()
		if len(code) != 9 || code[4] != '-' || seen[code] {
			t.Fatalf("code %q", code)
		}
		seen[code] = true
		for _, r := range strings.Replace(code, "-", "", 1) {
			letters[r]++
			if !strings.ContainsRune(codeLetters, r) {
				t.Fatalf("code %q", code)
			}
		}
		low := strings.ToLower(code)
		for _, typed := range []string{code, low, low[:4] + low[5:], " " + code + " ", low[:4] + " - " + low[5:]} {
			if !sameCode(code, typed) {
				t.Fatalf("%q typed as %q is not taken", code, typed)
			}
		}
		for _, typed := range []string{"", "-", code[1:], code + "A", code[:8]} {
			if sameCode(code, typed) {
				t.Fatalf("%q is taken for %q", typed, code)
			}
		}
	}
	if len(letters) != 32 {
		t.Errorf("%d letters are in use", len(letters))
	}
}
