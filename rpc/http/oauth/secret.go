package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// digest is what is kept of a secret.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// is says whether secret is the one that d was made of, in a time that does not tell
// how much of it is right.
func (d *digest) is(secret string) bool {
	other := digestOf(secret)
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

func (d digest) text() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

func parseDigest(text string) (d digest, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return d, err == nil && copy(d[:], b) == len(d) && len(b) == len(d)
}

// The tokens' prefixes tell a scanner for leaked secrets, and a person, what they are.
const (
	accessPrefix  = "bha_"
	refreshPrefix = "bhr_"
)

// A refresh token is the prefix, the secret of its family and its own, of 26
// characters each (crypto/rand.Text).
const secretLen = 26

func newAccess() string { return accessPrefix + rand.Text() }

func newRefresh(family string) string { return refreshPrefix + family + rand.Text() }

// splitRefresh takes a refresh token apart.
func splitRefresh(token string) (family, own string, ok bool) {
	s, ok := strings.CutPrefix(token, refreshPrefix)
	if !ok || len(s) != 2*secretLen {
		return "", "", false
	}
	return s[:secretLen], s[secretLen:], true
}

// The 32 letters of a pairing code: none is taken for another when read aloud or
// from a bad screen.
const codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// newCode makes a pairing code, of 8 letters and 40 bits, as it is shown: "K7QF-2MXD".
func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = codeLetters[b[i]%byte(len(codeLetters))]
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// sameCode compares a pairing code with what a person typed, in whatever case and
// with or without the dash.
func sameCode(code, typed string) bool {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r == '-' || r == ' ':
				return -1
			case r >= 'a' && r <= 'z':
				return r - 'a' + 'A'
			}
			return r
		}, s)
	}
	d := digestOf(clean(code))
	return d.is(clean(typed))
}
