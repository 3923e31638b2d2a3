package rpc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"boardhand/rpc/wire"
)

// Some calls need a person's yes. How the person is asked depends on the dialect:
//
//   - 2026-07-28 keeps no state: the call's result is the question, as an
//     elicitation, and a requestState. The client calls again with both the answer
//     and the state ("Multi Round-Trip Requests").
//   - 2025-06-18 and 2025-11-25: the server sends elicitation/create, and the call
//     waits for the answer.
//   - Older ones cannot ask, and a client may not be able to: the call is refused.
//     No argument of a call is ever taken for a yes.
//
// The content of an answer is {"confirm": true}; that, and the action "accept", is
// a yes, and nothing else is.

// DefaultConsent is how long a person may take where Limits name no Consent.
const DefaultConsent = 5 * time.Minute

const (
	maxQuestions = 8    // that wait on a connection for a person's answer
	maxOpen      = 64   // that stateless clients may come back with an answer to
	maxQuestion  = 2000 // bytes of a question's text
	shownOfText  = 200  // bytes of each argument in it
)

// confirmKey names the question among the inputRequests of a result, and its only field.
const confirmKey = "confirm"

// consent gets a person's decision on a call. It says whether the call is
// confirmed now; if it is not, the call has been answered or waits.
func (c *Conn) consent(call *Call, rule string) bool {
	switch {
	case call.dialect.complete:
		return c.consentStateless(call, rule)
	case call.dialect.elicits && c.asks:
		c.question(call, rule)
		return false
	}
	c.deny(call, Unconfirmed, errors.New(cannotAsk(call, rule)+
		"; a client of MCP 2025-06-18 or newer with the capability elicitation can"))
	return false
}

func cannotAsk(call *Call, rule string) string {
	return call.entry.name + " needs a person's yes (" + rule + "), and this client cannot ask for it"
}

// canAsk says whether the capability elicitation, as it was declared, is one for
// forms: one that names no mode is.
func (c *Conn) canAsk(capability wire.Value) bool {
	t := &c.tree
	return t.Kind(capability) == wire.Object && (t.Get(capability, "form") != 0 || t.Get(capability, "url") == 0)
}

// consentStateless finds the answer in the request, or answers with the question.
func (c *Conn) consentStateless(call *Call, rule string) bool {
	answer, p := c.inputResponse(call)
	switch {
	case p != nil:
	case !c.canAsk(c.tree.Get(c.req.meta.capabilities, "elicitation")):
		p = &problem{
			code:    wire.CodeMissingCapability,
			message: cannotAsk(call, rule) + ", for it does not declare the capability elicitation",
			data:    []byte(`{"requiredCapabilities":{"elicitation":{"form":{}}}}`),
		}
	case answer == 0:
		c.putQuestion(call, rule)
		return false
	default:
		p = c.srv.questions.redeem(c.tree.Text(call.state), call)
	}
	if p != nil {
		c.leave(call, Unconfirmed, p)
		c.failID(call.batch, call.mode, call.id, p)
		return false
	}
	if err := c.agreed(answer); err != nil {
		c.deny(call, Unconfirmed, err)
		return false
	}
	return true
}

// inputResponse is the answer to the question that the request carries; 0 where
// there is none, or no state that it could belong to.
func (c *Conn) inputResponse(call *Call) (wire.Value, *problem) {
	t := &c.tree
	switch {
	case call.state != 0 && t.Kind(call.state) != wire.String:
		return 0, badParams("params.requestState must be a string, not " + c.kind(call.state))
	case call.responses != 0 && t.Kind(call.responses) != wire.Object:
		return 0, badParams("params.inputResponses must be an object, not " + c.kind(call.responses))
	case call.state == 0:
		return 0, nil
	}
	return t.Get(call.responses, confirmKey), nil
}

// putQuestion answers a stateless call with the question.
func (c *Conn) putQuestion(call *Call, rule string) {
	c.leave(call, Asked, errors.New(rule))
	dst := append(c.begin(call.batch), `{"jsonrpc":"2.0","id":`...)
	dst = append(append(dst, call.id...), `,"result":{"resultType":"input_required","_meta":{"io.modelcontextprotocol/serverInfo":`...)
	dst = append(appendImplementation(dst, &c.srv.cat, false), `},"inputRequests":{"`+confirmKey+`":{"method":"elicitation/create","params":`...)
	dst = append(appendElicitation(dst, call, rule), `}},"requestState":"`...)
	dst = c.srv.questions.issue(dst, call, c.srv.limits.Consent)
	c.endResult(call.batch, call.mode, append(dst, '"'))
}

// question asks the client by a request of its own, and lets the call wait.
func (c *Conn) question(call *Call, rule string) {
	waiting := 0
	for _, j := range c.jobs {
		if j.asked != "" {
			waiting++
		}
	}
	switch {
	case waiting >= maxQuestions:
		c.deny(call, Unconfirmed, errors.New(call.entry.name+" needs a person's yes ("+rule+"), and "+strconv.Itoa(maxQuestions)+
			" questions wait for an answer already; call again when they have one"))
		return
	case len(c.jobs) >= c.srv.limits.Jobs:
		c.deny(call, Refused, c.srv.limits.tooManyJobs())
		return
	}
	if c.asking == "" {
		c.asking = confirmKey + "-" + rand.Text() + "-"
	}
	c.asked++
	call = call.detach()
	j := &job{call: call, asked: `"` + c.asking + strconv.FormatUint(c.asked, 10) + `"`}
	c.jobs = append(c.jobs, j)
	c.waiting.Add(1)
	j.timer = time.AfterFunc(c.srv.limits.Consent, func() { c.unanswered(j) })
	c.put(call.mode, func(dst []byte) []byte {
		dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), j.asked...), `,"method":"elicitation/create","params":`...)
		return append(appendElicitation(dst, call, rule), '}')
	})
}

// appendElicitation appends the params of elicitation/create. A mode is not named:
// a form is what it is without.
func appendElicitation(dst []byte, call *Call, rule string) []byte {
	text := append([]byte("Allow this call? "), call.entry.name...)
	text = call.AppendArguments(append(text, ' '), shownOfText)
	text = clip(append(append(text, "\nAsked for by "...), rule...), maxQuestion)
	dst = append(dst, `{"message":"`...)
	dst = append(wire.AppendEscaped(dst, appendVisible(nil, text)), `","requestedSchema":{"type":"object","properties":{"`+confirmKey+
		`":{"type":"boolean","title":"Allow it","description":"true: do it, once"}},"required":["`+confirmKey+`"]}}`...)
	return dst
}

// appendVisible appends text with what a terminal or a dialog would not show as it
// is, such as a mark that turns the direction of writing, as an escape: the text of
// an argument must not pass for another one.
func appendVisible(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if strconv.IsPrint(r) || r == '\n' {
			dst = utf8.AppendRune(dst, r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			dst = append(dst, quoted[1:len(quoted)-1]...)
		}
		text = text[n:]
	}
	return dst
}

// answered takes a response of the client. Of all that it might answer, only a
// question that waits means something.
func (c *Conn) answered(v wire.Value) {
	t := &c.tree
	id := t.Raw(t.Get(v, "id"))
	for _, j := range c.jobs {
		if j.asked == "" || j.asked != string(id) {
			continue
		}
		c.drop(j)
		j.call.job = nil
		if err := c.agreedResponse(v); err != nil {
			c.deny(j.call, Unconfirmed, err)
		} else if c.readmit(j.call) {
			c.launch(j.call)
		}
		return
	}
	if c.pending != nil {
		c.pending.answer(string(id), t.Raw(v))
	}
}

// agreedResponse says why a response to elicitation/create is no yes.
func (c *Conn) agreedResponse(v wire.Value) error {
	t := &c.tree
	if e := t.Get(v, "error"); e != 0 {
		return errors.New("the person could not be asked, for the client says: " + quote(t.Text(t.Get(e, "message"))))
	}
	return c.agreed(t.Get(v, "result"))
}

// agreed says why an ElicitResult is no yes.
func (c *Conn) agreed(result wire.Value) error {
	t := &c.tree
	action, content := c.sole(result, "action"), c.sole(result, "content")
	switch string(t.Text(action)) {
	case "accept":
		if t.Kind(c.sole(content, confirmKey)) == wire.True {
			return nil
		}
		return errors.New("the person did not agree to this call, for confirm is not true; nothing was done. Do not repeat it unless they ask for it")
	case "decline":
		return errors.New("the person said no to this call; nothing was done. Do not repeat it unless they ask for it")
	case "cancel":
		return errors.New("the person gave no answer to the question about this call; nothing was done. Ask them what they want before you repeat it")
	}
	return errors.New(`the client's answer to the question about this call has no action, which is "accept", "decline" or "cancel"; nothing was done`)
}

// sole is the member of an object that has this key, if only one has.
func (c *Conn) sole(o wire.Value, key string) (found wire.Value) {
	t := &c.tree
	if t.Kind(o) != wire.Object {
		return 0
	}
	for m, end := t.Children(o); m < end; m = t.Next(m) {
		if string(t.Key(m)) != key {
			continue
		}
		if found != 0 {
			return 0
		}
		found = m
	}
	return found
}

// unanswered ends a question that nobody answered in time.
func (c *Conn) unanswered(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drop(j) {
		return
	}
	c.withdraw(j)
	c.deny(j.call, Unconfirmed, errors.New("nobody answered the question about this call within "+c.srv.limits.Consent.String()+
		"; nothing was done. Call again when the person is there"))
	c.flush()
}

// withdraw tells the client that a question's answer means nothing any more.
func (c *Conn) withdraw(j *job) {
	c.put(j.call.mode, func(dst []byte) []byte {
		dst = append(append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...), j.asked...)
		return append(dst, `,"reason":"the call that the question was about has ended"}}`...)
	})
}

// unheard ends the questions whose answer cannot come any more, as the input has
// ended.
func (c *Conn) unheard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(c.jobs); {
		j := c.jobs[i]
		if j.asked == "" {
			i++
			continue
		}
		c.drop(j)
		c.deny(j.call, Unconfirmed, errors.New("the client's input ended before the person answered; nothing was done"))
	}
}

// questions are those of stateless clients that no answer has come to. The state
// that goes with a question is, in base64,
//
//	number of the question, 8 bytes | when it expires, ms since 1970, 8 bytes |
//	HMAC-SHA-256 of both and the call, 32 bytes | HMAC-SHA-256 of all that, 32 bytes
//
// so that it cannot be made up, or used for another call or other arguments, and
// each of these has its own error. A number is used once, and only the last 64 can
// be. The key is of this server alone.
type questions struct {
	mu   sync.Mutex
	key  []byte
	last uint64
	open [maxOpen]uint64 // the numbers that were not used, each at its remainder; 0: it was
}

const (
	stateHead = 16
	stateCall = stateHead + sha256.Size
	stateSize = stateCall + sha256.Size
)

// issue appends the state of a new question about a call.
func (q *questions) issue(dst []byte, call *Call, validFor time.Duration) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.key == nil {
		q.key = make([]byte, sha256.Size)
		_, _ = rand.Read(q.key) // never fails
	}
	q.last++
	q.open[q.last%maxOpen] = q.last
	state := binary.BigEndian.AppendUint64(make([]byte, 0, stateSize), q.last)
	state = binary.BigEndian.AppendUint64(state, uint64(time.Now().Add(validFor).UnixMilli()))
	state = q.sign(state, call.appendCanonical(state))
	return base64.RawURLEncoding.AppendEncode(dst, q.sign(state, state))
}

// redeem uses a state up, or says why it is not one for this call.
func (q *questions) redeem(text []byte, call *Call) *problem {
	q.mu.Lock()
	defer q.mu.Unlock()
	var state [stateSize]byte
	if len(text) != base64.RawURLEncoding.EncodedLen(stateSize) {
		return badState("is none of this server's")
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(state[:], text); err != nil {
		return badState("is none of this server's")
	}
	signed, head := state[:stateCall:stateCall], state[:stateHead:stateHead]
	if q.key == nil || !hmac.Equal(state[:], q.sign(signed, signed)) {
		return badState("is none that this server gave out since it began this session, or it was altered")
	}
	if !hmac.Equal(signed, q.sign(head, call.appendCanonical(head))) {
		return badState("was given out for another call, of another tool or with other arguments")
	}
	number := binary.BigEndian.Uint64(head)
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(head[8:])))
	switch slot := &q.open[number%maxOpen]; {
	case *slot == 0:
		return badState("was used already")
	case *slot != number:
		return badState("is older than the last " + strconv.Itoa(maxOpen) + " questions, which are all that may be answered")
	case time.Now().After(expires):
		*slot = 0
		return badState("has expired, for the person took too long")
	default:
		*slot = 0
	}
	return nil
}

func badState(what string) *problem {
	return badParams("params.requestState " + what + "; nothing was done. Call again without it, and the person is asked anew")
}

// sign appends the HMAC of text to dst.
func (q *questions) sign(dst, text []byte) []byte {
	h := hmac.New(sha256.New, q.key)
	h.Write(text)
	return h.Sum(dst)
}

// appendCanonical appends what a call is, its tool and its checked arguments,
// alike for all ways to write the same.
func (c *Call) appendCanonical(dst []byte) []byte {
	dst = dst[:len(dst):len(dst)] // the caller's array stays as it is
	text := func(s string) { dst = append(binary.BigEndian.AppendUint64(dst, uint64(len(s))), s...) }
	text(c.entry.name)
	for i := range c.args {
		a := &c.args[i]
		dst = wire.AppendBool(dst, a.set)
		dst = binary.BigEndian.AppendUint64(dst, uint64(a.num))
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(a.float))
		text(a.str)
		dst = binary.BigEndian.AppendUint64(dst, uint64(a.hi-a.lo))
		switch c.entry.tool.Params[i].Type {
		case Bytes:
			dst = append(dst, c.Bytes(i)...)
		case Strings:
			for _, s := range c.Strs(i) {
				text(s)
			}
		}
	}
	return dst
}
