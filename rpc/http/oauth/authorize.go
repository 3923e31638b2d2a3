package oauth

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// The limits of requests for authorization.
const (
	requestLife  = 10 * time.Minute
	maxRequests  = 32
	maxEach      = 4 // of one address
	codeLife     = time.Minute
	maxCodes     = 64
	maxState     = 2048    // bytes
	maxQuery     = 8 << 10 // bytes of a request's parameters
	maxApproval  = 4 << 10 // bytes of the form
	challengeLen = 43      // of S256: 32 bytes in base64url
)

// request is a client's request that waits for a person.
type request struct {
	id     string // in the form, unguessable
	number int    // on the page and the console, so that the right code is typed
	query  digest // of address and parameters: a page that is loaded again is the same request
	peer   netip.Addr
	born   time.Time
	code   string // the pairing code
	tries  int    // that were wrong

	client    *client
	redirect  string
	state     string
	challenge string
	scope     Scope
	issuer    string
	resource  string
}

// requests are those that wait.
type requests struct {
	mu     sync.Mutex
	list   []*request // the oldest first
	number int
}

// add makes r wait, unless its like does; it gives the one that waits. When there are
// too many, the address with the most of them loses its oldest.
func (q *requests) add(r *request) (waiting *request, fresh bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire()
	count := make(map[netip.Addr]int)
	for _, old := range q.list {
		if old.query == r.query {
			return old, false
		}
		count[old.peer]++
	}
	most := r.peer
	if count[most] < maxEach && len(q.list) >= maxRequests {
		for addr, n := range count {
			if n > count[most] {
				most = addr
			}
		}
	}
	if count[most] >= maxEach || len(q.list) >= maxRequests {
		for i, old := range q.list {
			if old.peer == most || count[most] == 0 {
				q.list = append(q.list[:i], q.list[i+1:]...)
				break
			}
		}
	}
	q.number++
	r.id, r.number, r.code, r.born = rand.Text(), q.number, newCode(), time.Now()
	q.list = append(q.list, r)
	return r, true
}

func (q *requests) expire() {
	for len(q.list) > 0 && time.Since(q.list[0].born) >= requestLife {
		q.list = q.list[1:]
	}
}

// get is the request of this id that waits, or nil.
func (q *requests) get(id string) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire()
	d := digestOf(id)
	for _, r := range q.list {
		if d.is(r.id) {
			return r
		}
	}
	return nil
}

// verdict is what became of a pairing code.
type verdict int

const (
	right  verdict = iota
	wrong          // and the request still waits
	closed         // wrong once too often: the request waits no more
	gone           // the request does not wait any more
)

// try compares a pairing code with r's. Where it is right, or wrong once too often, r
// waits no more: of two who try at once, one is right.
func (q *requests) try(r *request, typed string) verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire()
	if !q.waits(r) {
		return gone
	}
	if sameCode(r.code, typed) {
		q.drop(r)
		return right
	}
	if r.tries++; r.tries < maxWrong {
		return wrong
	}
	q.drop(r)
	return closed
}

// end takes r off; false when it was not waiting.
func (q *requests) end(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ok := q.waits(r)
	q.drop(r)
	return ok
}

func (q *requests) waits(r *request) bool {
	for _, one := range q.list {
		if one == r {
			return true
		}
	}
	return false
}

func (q *requests) drop(r *request) {
	for i, one := range q.list {
		if one == r {
			q.list = append(q.list[:i], q.list[i+1:]...)
			return
		}
	}
}

// authorize serves the authorization endpoint: GET shows the approval page, POST is
// its form.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.decide(w, r)
		return
	}
	q, problem := query(r)
	if problem != "" {
		s.message(w, http.StatusBadRequest, "This request is broken", problem)
		return
	}
	c, problem := s.clientFor(r, q["client_id"])
	if problem != "" {
		s.message(w, http.StatusBadRequest, "The board does not know this client", problem)
		return
	}
	redirect := q["redirect_uri"]
	if redirect == "" && len(c.redirects) == 1 {
		redirect = c.redirects[0]
	}
	if !c.allows(redirect) {
		s.message(w, http.StatusBadRequest, "This request is broken",
			fmt.Sprintf("The client wants the answer sent to %.200q, which is none of the addresses that it has registered.", redirect))
		return
	}
	req := &request{
		query: digestOf(peer(r).String() + " " + s.issuer(r) + " " + r.URL.RawQuery), peer: peer(r),
		client: c, redirect: redirect, state: q["state"], challenge: q["code_challenge"],
		scope: Both, issuer: s.issuer(r), resource: s.resource(r),
	}
	code, problem := "invalid_request", ""
	switch {
	case len(req.state) > maxState:
		req.state = ""
		problem = fmt.Sprintf("state has more than %d bytes", maxState)
	case q["response_type"] != "code":
		code, problem = "unsupported_response_type", "response_type must be code"
	case q["response_mode"] != "" && q["response_mode"] != "query":
		problem = "response_mode must be query"
	case q["code_challenge_method"] != "S256":
		problem = "code_challenge_method must be S256"
	case len(req.challenge) != challengeLen || !isToken(req.challenge) || strings.ContainsAny(req.challenge, "+/=.~"):
		problem = "code_challenge must be the base64url of a SHA-256, 43 characters"
	case q["resource"] != "" && !s.isResource(r, q["resource"]):
		code, problem = "invalid_target", "resource must be "+s.resource(r)
	case q["scope"] != "":
		if req.scope = parseScope(q["scope"]); req.scope&Write != 0 {
			req.scope = Both
		} else if req.scope == 0 {
			code, problem = "invalid_scope", "scope must hold board:read or board:write"
		}
	}
	if problem != "" {
		s.refuseRequest(w, r, req, code, problem)
		return
	}
	if wait := s.lockouts.wait(req.peer); wait > 0 {
		s.locked(w, wait)
		return
	}
	req, fresh := s.requests.add(req)
	if fresh {
		s.say(fmt.Sprintf("request %d: %q, from %v, asks to work this board (%v); its pairing code is %s, for %v",
			req.number, req.client.name, req.peer, req.scope, req.code, requestLife))
	}
	s.approval(w, http.StatusOK, req, req.scope, "")
}

// query reads the parameters of an authorization request, none of which may stand
// twice (RFC 6749, section 3.1), but for resource, of which there is one here.
func query(r *http.Request) (map[string]string, string) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, fmt.Sprintf("It has more than %d bytes.", maxQuery)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, "Its parameters are not properly encoded."
	}
	return once(values)
}

func once(values url.Values) (map[string]string, string) {
	q := make(map[string]string, len(values))
	for name, list := range values {
		if len(list) > 1 {
			return nil, fmt.Sprintf("The parameter %.60q stands in it %d times.", name, len(list))
		}
		q[name] = list[0]
	}
	return q, ""
}

// clientFor is the client of this id: of the document there, or registered.
func (s *Server) clientFor(r *http.Request, id string) (*client, string) {
	switch {
	case id == "":
		return nil, "The request does not say which client it is: client_id is missing."
	case isDocument(id):
		c, err := s.documents.get(r.Context(), id)
		if err != nil {
			return nil, sentence(err)
		}
		return c, ""
	}
	c := s.known(id)
	if c == nil {
		return nil, "The client has not registered here, or the board has started anew since and forgotten it. Let the client forget this board, and connect again."
	}
	return c, ""
}

// known is the registered client of this id, or nil.
func (s *Server) known(id string) *client {
	if c := s.registered.get(id); c != nil {
		return c
	}
	return s.store.clientOf(id)
}

func sentence(err error) string {
	text := err.Error()
	if text = strings.ToUpper(text[:1]) + text[1:]; !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// refuseRequest tells the client of an error in its request. A program on the
// person's own machine is told at once; of a web site the person decides, for nobody has
// vouched for it (RFC 9700, section 4.11.2).
func (s *Server) refuseRequest(w http.ResponseWriter, r *http.Request, req *request, code, problem string) {
	to := req.answer(url.Values{"error": {code}, "error_description": {problem}})
	if isLoopback(hostOf(req.redirect)) {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	s.message(w, http.StatusBadRequest, "This request is broken", "The client asks wrongly: "+problem+".")
}

// answer is the address that takes an answer to the client (RFC 6749, section 4.1.2;
// RFC 9207).
func (r *request) answer(v url.Values) string {
	if r.state != "" {
		v.Set("state", r.state)
	}
	v.Set("iss", r.issuer)
	mark := "?"
	if strings.Contains(r.redirect, "?") {
		mark = "&"
	}
	return r.redirect + mark + v.Encode()
}

func (s *Server) locked(w http.ResponseWriter, wait time.Duration) {
	retryAfter(w.Header(), wait)
	s.message(w, http.StatusTooManyRequests, "Locked", "Too many wrong pairing codes came from your address. "+tryIn(wait))
}

// decide takes what a person decided on the approval page.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	if err := s.foreign.Check(r); err != nil {
		s.message(w, http.StatusForbidden, "Not from this page", "Another page has sent this. Only the board's own page may approve a client.")
		return
	}
	form, problem := form(w, r, maxApproval)
	if problem != "" {
		s.message(w, http.StatusBadRequest, "This form is broken", sentence(fmt.Errorf("%s", problem)))
		return
	}
	req := s.requests.get(form["request"])
	if req == nil {
		s.message(w, http.StatusGone, "This request has ended", "It was answered, or is older than ten minutes, or the board has started anew. Start again from the client.")
		return
	}
	switch form["decision"] {
	case "deny":
		if s.requests.end(req) {
			s.say(fmt.Sprintf("request %d: denied", req.number))
		}
		http.Redirect(w, r, req.answer(url.Values{"error": {"access_denied"}, "error_description": {"the person at the board's page denied it"}}), http.StatusSeeOther)
	case "approve":
		s.approve(w, r, req, form)
	default:
		s.message(w, http.StatusBadRequest, "This form is broken", "It says neither to approve nor to deny.")
	}
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request, req *request, form map[string]string) {
	from := peer(r)
	if wait := s.lockouts.wait(from); wait > 0 {
		s.locked(w, wait)
		return
	}
	scope := req.scope
	if form["write"] == "" {
		scope &^= Write
	}
	if strings.TrimSpace(form["code"]) == "" {
		s.approval(w, http.StatusBadRequest, req, scope, "Type the pairing code first.")
		return
	}
	switch s.requests.try(req, form["code"]) {
	case right:
		s.lockouts.right(from)
	case gone:
		s.message(w, http.StatusGone, "This request has ended", "It was answered already. Start again from the client.")
		return
	case wrong:
		s.say(fmt.Sprintf("request %d: a wrong pairing code, from %v", req.number, from))
		if wait := s.lockouts.wrong(from); wait > 0 {
			s.locked(w, wait)
			return
		}
		s.approval(w, http.StatusForbidden, req, scope, fmt.Sprintf("That is not the code of request %d. Look for the last line about request %d.", req.number, req.number))
		return
	case closed:
		s.lockouts.wrong(from)
		s.say(fmt.Sprintf("request %d: closed after %d wrong pairing codes, the last from %v", req.number, maxWrong, from))
		s.message(w, http.StatusForbidden, "This request is closed", fmt.Sprintf("%d wrong pairing codes were typed. Start again from the client.", maxWrong))
		return
	}
	if !s.store.hasRoom(req.client, req.resource) {
		s.say(fmt.Sprintf("request %d: no room, %d clients are approved; end one with \"boardhand tokens revoke ID\"", req.number, maxGrants))
		s.message(w, http.StatusServiceUnavailable, "No room", fmt.Sprintf("%d clients are approved already. End one with: boardhand tokens revoke ID", maxGrants))
		return
	}
	code := s.codes.add(&authorization{request: req, scope: scope})
	s.say(fmt.Sprintf("request %d: approved (%v), from %v", req.number, scope, from))
	http.Redirect(w, r, req.answer(url.Values{"code": {code}}), http.StatusSeeOther)
}

// authorization is an approved request, which its client has a minute to fetch the tokens of.
type authorization struct {
	*request
	scope Scope
	at    time.Time
	used  int    // how often
	grant string // that came of it
}

// codes holds the authorization codes. One that was used is kept as long as it
// would have lived: to see it again means that it was stolen.
type codes struct {
	mu   sync.Mutex
	list map[digest]*authorization
}

func (c *codes) add(a *authorization) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = make(map[digest]*authorization)
	}
	maps.DeleteFunc(c.list, func(_ digest, old *authorization) bool { return time.Since(old.at) >= codeLife })
	if len(c.list) >= maxCodes {
		dropOldest(c.list, func(a *authorization) time.Time { return a.at })
	}
	code := rand.Text()
	a.at = time.Now()
	c.list[digestOf(code)] = a
	return code
}

// get is what this code stands for, or nil.
func (c *codes) get(code string) *authorization {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.list[digestOf(code)]
	if a == nil || time.Since(a.at) >= codeLife {
		return nil
	}
	return a
}

// use counts that a is used; the first time first is true, later grant is what came of
// it, or "" as long as nothing has.
func (c *codes) use(a *authorization) (grant string, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.used++
	return a.grant, a.used == 1
}

// became notes what came of a; it says false when a was used again meanwhile, so that
// it must end.
func (c *codes) became(a *authorization, grant string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.grant = grant
	return a.used == 1
}
