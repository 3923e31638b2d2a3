package oauth

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// styleHash lets the page's own style through its policy, and no other.
var styleHash = func() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// page writes a page; body is HTML, all else is text. target is the redirect address
// that the page's form may lead to, or empty.
func (s *Server) page(w http.ResponseWriter, status int, title, body, target string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash+
		"; form-action 'self'"+source(target)+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	// The form's Origin is looked at: no-referrer would make it null.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = strings.NewReplacer("{{title}}", html.EscapeString(title), "{{style}}", pageCSS,
		"{{board}}", html.EscapeString(s.name), "{{body}}", body).WriteString(w, pageHTML)
}

// source is what a policy must name so that a form may lead to target: browsers
// apply it to redirects too.
func source(target string) string {
	u, err := url.Parse(target)
	switch {
	case target == "" || err != nil || !isHost(u.Host):
		return ""
	case strings.HasPrefix(u.Host, "["): // a policy cannot name an IPv6 address
		return " " + u.Scheme + ":"
	}
	return " " + u.Scheme + "://" + u.Host
}

// message writes a page that says something, and that is all.
func (s *Server) message(w http.ResponseWriter, status int, title, text string) {
	s.page(w, status, title, "<p>"+html.EscapeString(text)+"</p>", "")
}

// approval writes the approval page, with scope ticked; notice says what was wrong with
// the last answer.
func (s *Server) approval(w http.ResponseWriter, status int, r *request, scope Scope, notice string) {
	var b strings.Builder
	add := func(format string, text ...string) {
		args := make([]any, len(text))
		for i := range text {
			args[i] = html.EscapeString(text[i])
		}
		fmt.Fprintf(&b, format, args...)
	}
	add("<dl><dt>Client</dt><dd>%s", r.client.name)
	if r.client.described {
		add("<small>This is what %s says of it.</small>", hostOf(r.client.id))
	} else {
		add("<small>This is its own word; nobody has checked it.</small>")
	}
	add("</dd><dt>The answer goes to</dt>")
	if host := hostOf(r.redirect); isLoopback(host) {
		add("<dd>a program on this device (%s)<small>Any program here could be it.</small></dd>", host)
	} else {
		add("<dd>%s</dd>", host)
	}
	add("<dt>Board</dt><dd>%s</dd></dl>", strings.TrimPrefix(strings.TrimPrefix(r.issuer, "https://"), "http://"))

	add(`<form method="post" action="%s"><input type="hidden" name="request" value="%s">`, authorizePath, r.id)
	add(`<fieldset><legend>It may</legend><div class="may"><span aria-hidden="true">✓</span><span>look at the board<small>board:read: pins, sensors, buses, settings</small></span></div>`)
	if r.scope&Write != 0 {
		checked := ""
		if scope&Write != 0 {
			checked = " checked"
		}
		add(`<label class="may"><input type="checkbox" name="write" value="yes"%s><span>change the board<small>board:write: switch outputs, write to devices. Untick it to let the client look only.</small></span></label>`, checked)
	}
	add("</fieldset>")
	focus := "" // at first a person shall read the page from its top, on a phone too
	if notice != "" {
		focus = " autofocus"
		add(`<p class="notice" role="alert">%s</p>`, notice)
	}
	add(`<label class="code" for="code">Pairing code<small>The board has just printed it on its console or log, in the line about request %s.</small></label>`, strconv.Itoa(r.number))
	add(`<input id="code" name="code" placeholder="XXXX-XXXX" maxlength="20" required%s autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false">`, focus)
	add(`<p><small>Approve only what you have started yourself just now.</small></p>`)
	add(`<div class="buttons"><button name="decision" value="approve">Approve</button><button name="decision" value="deny" formnovalidate>Deny</button></div></form>`)
	s.page(w, status, "Let this client work the board?", b.String(), r.redirect)
}
