package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var shots = flag.String("shots", "", "the `folder` for screenshots of the approval page; empty: they are not kept")

type box struct{ Width, Height float64 }

// layout is how a page looks in a browser.
type layout struct {
	Title, Text string
	Overflows   bool // sideways
	Buttons     []box
	Code        *box    // the field of the pairing code
	CodeFont    float64 // in pixels
	Focused     string
	Ticked      bool    // that it may write
	Contrast    float64 // the least of all texts
	Scripts     int
	Foreign     int // what it loads
	Answer      map[string]string
}

// TestTheApprovalPage looks at the page in headless Chromium, on phones and a desk,
// and tries to make it approve what the person did not.
func TestTheApprovalPage(t *testing.T) {
	dir := installed(t)
	program := browser()
	if program == "" {
		t.Skip("no Chromium is here (apt install chromium, or chrome): the approval page is not looked at")
	}
	folder := *shots
	if folder == "" {
		folder = t.TempDir()
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"argv": httpServer(t), "tokens": filepath.Join(t.TempDir(), "tokens.json"), "browser": program, "shots": folder})
	if err != nil {
		t.Fatal(err)
	}
	cmd := nodeCommand(t, dir, filepath.Join(dir, "approval.mjs"), string(settings))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	var seen struct {
		Pages  map[string]layout
		Errors []string
		Facts  struct {
			Denied, Own map[string]string
			Framed      string
			Forged      int
		}
		Log string
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, p := range seen.Pages {
		t.Run(name, func(t *testing.T) { p.check(t, name) })
	}
	if len(seen.Pages) < 12 {
		t.Errorf("%d pages only", len(seen.Pages))
	}
	for _, e := range seen.Errors {
		if !strings.Contains(e, "frame-ancestors") {
			t.Errorf("the browser complains: %s", e)
		}
	}
	for _, p := range []string{"phone: asked", "desk: asked", "iphone: asked"} {
		for _, want := range []string{"Claude Code", "its own word", "127.0.0.1", "board:read", "board:write", "Pairing code", "request "} {
			if !strings.Contains(seen.Pages[p].Text, want) {
				t.Errorf("%s lacks %q:\n%s", p, want, seen.Pages[p].Text)
			}
		}
	}
	for p, want := range map[string]string{
		"phone: wrong code": "That is not the code of request", "phone: a site that looks": "assistant.example.com", "phone: unknown client": "has not registered here",
		"phone: closed": "wrong pairing codes", "phone: locked": "Too many wrong pairing codes",
	} {
		if !strings.Contains(seen.Pages[p].Text, want) {
			t.Errorf("%s lacks %q:\n%s", p, want, seen.Pages[p].Text)
		}
	}
	if strings.Contains(seen.Pages["phone: a site that looks"].Text, "board:write") {
		t.Error("a client that wants to look is offered to write")
	}
	equal(t, "denied", seen.Facts.Denied["error"], "access_denied")
	equal(t, "a forged form", seen.Facts.Forged, 403)
	if seen.Facts.Own["code"] == "" || seen.Pages["desk: wrong code"].Answer["code"] == "" {
		t.Errorf("the page itself does not approve: %v", seen.Facts.Own)
	}
	if strings.Contains(seen.Facts.Framed, "Pairing") || strings.Contains(seen.Facts.Framed, "Claude") {
		t.Errorf("the page is shown in a frame: %s", seen.Facts.Framed)
	}
	left, _ := filepath.Glob(filepath.Join(folder, "*.png"))
	if len(left) < len(seen.Pages) {
		t.Errorf("%d screenshots of %d pages", len(left), len(seen.Pages))
	}
}

func (p *layout) check(t *testing.T, name string) {
	if p.Overflows {
		t.Error("it is wider than the screen")
	}
	if p.Scripts != 0 || p.Foreign != 0 {
		t.Errorf("it has %d scripts and loads %d things", p.Scripts, p.Foreign)
	}
	if p.Contrast < 4.5 {
		t.Errorf("the contrast of a text is %.2f; it must be 4.5", p.Contrast)
	}
	if !strings.HasSuffix(name, "asked") && !strings.HasSuffix(name, "wrong code") {
		return
	}
	if p.Code == nil || len(p.Buttons) != 2 {
		t.Fatalf("the field of the code %v, buttons %v", p.Code, p.Buttons)
	}
	for _, b := range append(p.Buttons, *p.Code) {
		if b.Height < 44 || b.Width < 44 {
			t.Errorf("something to touch is %.0f by %.0f pixels", b.Width, b.Height)
		}
	}
	if p.CodeFont < 16 { // a smaller one makes iPhones zoom
		t.Errorf("the code is typed in %.0f pixels", p.CodeFont)
	}
	if strings.HasSuffix(name, "asked") {
		equal(t, "focus", p.Focused, "") // the page is read from its top
		return
	}
	equal(t, "focus", p.Focused, "code")
	equal(t, "whether it may write", p.Ticked, name != "phone: wrong code")
}
