package items

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// input is what a stateless call brings along: the answers to what was asked before,
// and the state that goes with them.
type input struct {
	RequestState   string
	InputResponses map[string]json.RawMessage
	Meta           struct {
		Capabilities map[string]any `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

func inputOf(c *rpc.Call) (in input) {
	_ = json.Unmarshal(c.Params(), &in)
	return in
}

// accepted is the content of an elicitation's answer, if the user agreed.
func (in *input) accepted(key string) (content map[string]any, ok bool) {
	var answer struct {
		Action  string
		Content map[string]any
	}
	if json.Unmarshal(in.InputResponses[key], &answer) != nil || answer.Action != "accept" || answer.Content == nil {
		return nil, false
	}
	return answer.Content, true
}

// sampled is the text of a sampling's answer.
func (in *input) sampled(key string) (words string, ok bool) {
	var answer struct {
		Role    string
		Content json.RawMessage
	}
	if json.Unmarshal(in.InputResponses[key], &answer) != nil || answer.Role == "" {
		return "", false
	}
	var block struct{ Text string }
	var blocks []struct{ Text string }
	if json.Unmarshal(answer.Content, &block) == nil {
		return block.Text, true
	}
	if json.Unmarshal(answer.Content, &blocks) == nil && len(blocks) > 0 {
		return blocks[0].Text, true
	}
	return "", true
}

// roots are those of a roots/list's answer.
func (in *input) roots(key string) (uris []string, ok bool) {
	var answer struct{ Roots []struct{ URI string } }
	if json.Unmarshal(in.InputResponses[key], &answer) != nil || in.InputResponses[key] == nil {
		return nil, false
	}
	for _, r := range answer.Roots {
		uris = append(uris, r.URI)
	}
	return uris, true
}

// question is an input request by elicitation, for one field.
func question(key, message, field, kind string) string {
	return string(wire.AppendString([]byte(`"`+key+`":{"method":"elicitation/create","params":{"message":`), message)) +
		`,"requestedSchema":{"type":"object","properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}}}`
}

func sampling(key, prompt string, tokens int) string {
	return string(wire.AppendString([]byte(`"`+key+`":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":`), prompt)) +
		fmt.Sprintf(`}}],"maxTokens":%d}}`, tokens)
}

func listRoots(key string) string { return `"` + key + `":{"method":"roots/list","params":{}}` }

// require answers with a question: the input requests, and a state that is signed.
func require(c *rpc.Call, state string, requests ...string) error {
	c.Incomplete = true
	c.Out = append(c.Out, `"inputRequests":{`+strings.Join(requests, ",")+`}`...)
	if state != "" {
		c.Out = wire.AppendString(append(c.Out, `,"requestState":`...), seal(state))
	}
	return nil
}

// key signs states. It is this process's alone.
var key = func() []byte {
	k := make([]byte, sha256.Size)
	_, _ = rand.Read(k)
	return k
}()

func seal(state string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(state))
	return state + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// unseal gives a state that this server gave out; of another it is an error.
func unseal(sealed string) (string, error) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 0 || !hmac.Equal([]byte(seal(sealed[:i])), []byte(sealed)) {
		return "", &rpc.Error{Code: wire.CodeInvalidParams, Message: "requestState is none that this server gave out"}
	}
	return sealed[:i], nil
}

func stateless(name, description string, run func(c *rpc.Call, in input) error) rpc.Tool {
	return rpc.Tool{Name: name, Description: description, Raw: true, Run: func(c *rpc.Call) error { return run(c, inputOf(c)) }}
}

// confirmed is a tool that asks once, with a state that must come back as it was.
func confirmed(name, description string) rpc.Tool {
	return stateless(name, description, func(c *rpc.Call, in input) error {
		if in.RequestState != "" {
			if _, err := unseal(in.RequestState); err != nil {
				return err
			}
			if _, ok := in.accepted("confirm"); ok {
				return say(c, "state-ok: requestState received and confirmation accepted")
			}
		}
		return require(c, name, question("confirm", "Please confirm", "ok", "boolean"))
	})
}

// statelessTools ask by their results, as servers do from MCP 2026-07-28 on.
func statelessTools() []rpc.Tool {
	return []rpc.Tool{
		stateless("test_input_required_result_elicitation", "Asks for a name.", func(c *rpc.Call, in input) error {
			if content, ok := in.accepted("user_name"); ok {
				if name, _ := content["name"].(string); name != "" {
					return say(c, "Hello, %s!", name)
				}
			}
			return require(c, "", question("user_name", "What is your name?", "name", "string"))
		}),
		stateless("test_input_required_result_sampling", "Asks the client's model.", func(c *rpc.Call, in input) error {
			if words, ok := in.sampled("capital_question"); ok {
				return say(c, "Sampling response: %s", words)
			}
			return require(c, "", sampling("capital_question", "What is the capital of France?", 100))
		}),
		stateless("test_input_required_result_list_roots", "Asks for the client's roots.", func(c *rpc.Call, in input) error {
			if uris, ok := in.roots("client_roots"); ok {
				return say(c, "%d roots: %s", len(uris), strings.Join(uris, ", "))
			}
			return require(c, "", listRoots("client_roots"))
		}),
		confirmed("test_input_required_result_request_state", "Asks, with a state."),
		confirmed("test_input_required_result_tampered_state", "Asks, and takes no state that was changed."),
		stateless("test_input_required_result_multiple_inputs", "Asks for three things at once.", func(c *rpc.Call, in input) error {
			content, named := in.accepted("user_name")
			words, greeted := in.sampled("greeting")
			uris, rooted := in.roots("client_roots")
			if named && greeted && rooted {
				return say(c, "%s %v, of %d roots", words, content["name"], len(uris))
			}
			return require(c, "multiple", question("user_name", "What is your name?", "name", "string"),
				sampling("greeting", "Generate a greeting", 50), listRoots("client_roots"))
		}),
		stateless("test_input_required_result_multi_round", "Asks twice, one after the other.", func(c *rpc.Call, in input) error {
			state := ""
			if in.RequestState != "" {
				var err error
				if state, err = unseal(in.RequestState); err != nil {
					return err
				}
			}
			name, second := strings.CutPrefix(state, "two:")
			if second {
				if content, ok := in.accepted("step2"); ok {
					return say(c, "%s likes %v", name, content["color"])
				}
				return require(c, state, question("step2", "Step 2: What is your favorite color?", "color", "string"))
			}
			if content, ok := in.accepted("step1"); ok && state == "one" {
				return require(c, fmt.Sprintf("two:%v", content["name"]), question("step2", "Step 2: What is your favorite color?", "color", "string"))
			}
			return require(c, "one", question("step1", "Step 1: What is your name?", "name", "string"))
		}),
		stateless("test_input_required_result_capabilities", "Asks for no more than the client can.", func(c *rpc.Call, in input) error {
			if len(in.InputResponses) > 0 {
				return say(c, "answered within the client's capabilities")
			}
			var ask []string
			if in.Meta.Capabilities["elicitation"] != nil {
				ask = append(ask, question("user_name", "What is your name?", "name", "string"))
			}
			if in.Meta.Capabilities["sampling"] != nil {
				ask = append(ask, sampling("greeting", "Generate a greeting", 50))
			}
			if in.Meta.Capabilities["roots"] != nil {
				ask = append(ask, listRoots("client_roots"))
			}
			if len(ask) == 0 {
				return say(c, "the client has none of the capabilities to be asked")
			}
			return require(c, "", ask...)
		}),
		{Name: "test_missing_capability", Description: "Needs a client that can sample.", Requires: "sampling", Raw: true, Run: func(c *rpc.Call) error {
			return say(c, "The client can sample.")
		}},
		{Name: "test_streaming_elicitation", Description: "Tells its progress while it runs.", Raw: true, Queue: alone, Run: func(c *rpc.Call) error {
			if token := c.ProgressToken(); len(token) > 0 {
				c.Notify("notifications/progress", []byte(`{"progressToken":`+string(token)+`,"progress":1,"total":2}`))
			}
			return say(c, "nothing but notifications comes before this")
		}},
		{Name: "test_logging_tool", Description: "Logs, where the caller wants to hear it.", Raw: true, Run: func(c *rpc.Call) error {
			c.Log(rpc.LogInfo, "test", "test_logging_tool executed")
			return say(c, "logged, if it was wanted")
		}},
	}
}

// hub tells those who listen what has changed.
type hub struct {
	mu   sync.Mutex
	open map[chan string]bool
}

func (h *hub) tell(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		select {
		case c <- what:
		default: // it has enough to tell
		}
	}
}

func changeTools(h *hub) []rpc.Tool {
	changes := func(what string) func(c *rpc.Call) error {
		return func(c *rpc.Call) error {
			h.tell(what)
			return say(c, "%s_list_changed published", what)
		}
	}
	return []rpc.Tool{
		{Name: "test_trigger_tool_change", Description: "Tells those who listen that the tools have changed.", Raw: true, Run: changes("tools")},
		{Name: "test_trigger_prompt_change", Description: "Tells those who listen that the prompts have changed.", Raw: true, Run: changes("prompts")},
	}
}

// listen serves subscriptions/listen until nobody listens any more.
func (h *hub) listen(c *rpc.Call) error {
	var params struct {
		Notifications struct{ ToolsListChanged, PromptsListChanged bool }
	}
	if err := json.Unmarshal(c.Params(), &params); err != nil {
		return err
	}
	wanted := map[string]bool{"tools": params.Notifications.ToolsListChanged, "prompts": params.Notifications.PromptsListChanged}
	meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.ID()) + `}`
	changes := make(chan string, 16)
	h.mu.Lock()
	h.open[changes] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.open, changes)
		h.mu.Unlock()
	}()
	var agreed []string
	for _, what := range []string{"tools", "prompts"} {
		if wanted[what] {
			agreed = append(agreed, `"`+what+`ListChanged":true`)
		}
	}
	c.Notify("notifications/subscriptions/acknowledged", []byte(`{`+meta+`,"notifications":{`+strings.Join(agreed, ",")+`}}`))
	for !c.Cancelled() {
		select {
		case what := <-changes:
			if wanted[what] {
				c.Notify("notifications/"+what+"/list_changed", []byte(`{`+meta+`}`))
			}
		case <-c.Gone():
		}
	}
	return nil
}
