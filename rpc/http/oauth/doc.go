// Package oauth lets a board decide by itself who may work it over HTTP: it is the
// OAuth 2.1 authorization server and the check of the resource server in one, for a
// board that has no cloud and no accounts.
//
// # How a client gets in
//
// A client without a token is answered 401 with the address of the metadata (RFC
// 9728, RFC 8414). It registers itself (RFC 7591) or names an https URL that
// describes it (OAuth Client ID Metadata Document), and opens the approval page in
// the person's browser. At that moment the board prints a pairing code on its console
// or log, for this one request. Whoever can read it there owns the board: they type it
// on the page, choose what the client may do, and the client gets its tokens.
//
// The code is the whole of what authorizes: there is no cookie and no account, so a
// foreign page can make a browser do nothing here that it could not do itself. Such
// requests are refused all the same (net/http.CrossOriginProtection).
//
// # What is kept
//
// A Grant is one client's permission with one access token and one refresh token.
// Grants are in a file of mode 0600, tokens in it as SHA-256 digests: 130 random bits
// need no slower hash. What nobody has approved is kept in memory only, so a
// stranger makes the board write nothing to its flash: registrations, requests, codes.
// Every table has a limit, and says so when it is reached.
//
// A refresh token is used once. It begins with a secret that all tokens of its grant
// share, so that one which was used before is known however old it is: then either
// the client or a thief holds a copy, and the grant ends. For ten seconds its client may
// repeat itself, from the same address, and gets the same answer.
//
// # Why no library
//
// ory/fosite adds 13 MB to a program whose board build is 3 MB, zitadel/oidc 8 MB;
// they and go-oauth2 know neither resource indicators bound to a host, nor client ID
// metadata documents, nor the pairing code, which are half of what is here. Tokens are opaque:
// there are no signatures, no keys and no encryption to get wrong. What remains of
// cryptography is crypto/rand.Text, crypto/sha256 and crypto/subtle.
//
// # Guessing
//
// A pairing code has 40 bits, lives ten minutes, serves one request and bears five
// wrong tries; all addresses together have 60 tries a minute. Guessing as fast as that
// allows for a year, strangers find one with a probability of 1 in 34,000. Whoever
// floods the board keeps others from being approved and from fresh tokens as long as
// that lasts, and gets no nearer; access tokens hold on. Behind a proxy all strangers
// have one address, the proxy's.
package oauth
