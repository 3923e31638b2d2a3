// Package items is what the official conformance suite of MCP
// (npm, @modelcontextprotocol/conformance) expects of a server: tools, resources and
// prompts of given names. They are served by the packages that boardhand is made of,
// so that the suite judges those. None of them is in boardhand itself.
package items

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// Catalogue is all that the suite asks for.
func Catalogue() rpc.Catalogue {
	h := &hub{open: map[chan string]bool{}}
	return rpc.Catalogue{
		Name:         "boardhand-conformance",
		Title:        "The items of the conformance suite",
		Version:      "1.0.0",
		Instructions: "This server is there to be tested.",
		Capabilities: `"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{"listChanged":true},"logging":{}`,
		Tools:        append(append(contentTools(), askingTools()...), append(statelessTools(), changeTools(h)...)...),
		Resources:    resources(),
		Templates:    templates(),
		Prompts:      prompts(),
		Methods: map[string]*rpc.Method{
			"resources/subscribe":   {Run: nothing},
			"resources/unsubscribe": {Run: nothing},
			"subscriptions/listen":  {Queue: alone, Timeout: time.Hour, Run: h.listen},
		},
	}
}

// nothing serves what only the revisions with sessions have.
func nothing(c *rpc.Call) error {
	if c.Stateless() {
		return &rpc.Error{Code: wire.CodeMethodNotFound, Message: "this method is of MCP 2025-11-25 and older"}
	}
	return nil
}

// alone gives each call a worker of its own: none waits for another.
func alone(*rpc.Call) string { return "test-" + strconv.FormatInt(calls.Add(1), 10) }

var calls atomic.Int64

// The smallest picture and sound that are some: a red pixel, and silence.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// text appends a content block.
func text(dst []byte, s string) []byte {
	return append(wire.AppendString(append(wire.AppendSep(dst), `{"type":"text","text":`...), s), '}')
}

// say writes a result that is one text.
func say(c *rpc.Call, format string, args ...any) error {
	c.Out = append(c.Out, `"content":[`...)
	c.Out = append(text(c.Out, fmt.Sprintf(format, args...)), ']')
	return nil
}

func fixed(name, description, content string) rpc.Tool {
	return rpc.Tool{Name: name, Description: description, Hints: rpc.Hints{ReadOnly: true}, Raw: true, Run: func(c *rpc.Call) error {
		c.Out = append(append(append(c.Out, `"content":[`...), content...), ']')
		return nil
	}}
}

const (
	imageBlock = `{"type":"image","data":"` + pixel + `","mimeType":"image/png"}`
	audioBlock = `{"type":"audio","data":"` + silence + `","mimeType":"audio/wav"}`
)

func resourceBlock(uri string) string {
	return string(append(wire.AppendString([]byte(`{"type":"resource","resource":{"uri":`), uri),
		`,"mimeType":"text/plain","text":"This is an embedded resource."}}`...))
}

func contentTools() []rpc.Tool {
	return []rpc.Tool{
		fixed("test_simple_text", "Gives a text.", `{"type":"text","text":"This is a simple text response for testing."}`),
		fixed("test_image_content", "Gives an image.", imageBlock),
		fixed("test_audio_content", "Gives a sound.", audioBlock),
		fixed("test_embedded_resource", "Gives a resource within its result.", resourceBlock("test://embedded-resource")),
		fixed("test_multiple_content_types", "Gives a text, an image and a resource.",
			`{"type":"text","text":"Multiple content types test:"},`+imageBlock+`,`+resourceBlock("test://mixed-content-resource")),
		{Name: "test_error_handling", Description: "Always fails.", Run: func(*rpc.Call) error {
			return errors.New("This tool intentionally returns an error for testing") //lint:ignore ST1005 the suite's own words
		}},
		{Name: "test_tool_with_logging", Description: "Logs three times.", Raw: true, Queue: alone, Run: func(c *rpc.Call) error {
			for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				c.Log(rpc.LogInfo, "test", line)
				time.Sleep(50 * time.Millisecond)
			}
			return say(c, "Tool with logging executed successfully")
		}},
		{Name: "test_tool_with_progress", Description: "Reports progress three times.", Raw: true, Queue: alone, Run: func(c *rpc.Call) error {
			token := c.ProgressToken()
			for _, done := range []string{"0", "50", "100"} {
				if len(token) > 0 {
					c.Notify("notifications/progress", []byte(`{"progressToken":`+string(token)+`,"progress":`+done+`,"total":100,"message":"Completed step `+done+` of 100"}`))
				}
				time.Sleep(50 * time.Millisecond)
			}
			return say(c, "%s", token)
		}},
		{Name: "json_schema_2020_12_tool", Description: "Has a schema with much of JSON Schema 2020-12.", Raw: true, Schema: richSchema, Run: func(c *rpc.Call) error {
			return say(c, "called with %s", c.Params())
		}},
		{Name: "test_x_mcp_header", Description: "Has an argument that is repeated in a header.", Raw: true, Params: []rpc.Param{
			{Name: "region", Type: rpc.String, Description: "where", Header: "Region"},
			{Name: "level", Type: rpc.Integer, Description: "how much", Min: 0, Max: 100},
		}, Run: func(c *rpc.Call) error { return say(c, "region=%s", c.Str(0)) }},
	}
}

const richSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},` +
	`"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},` +
	`"else":{"required":["email"]},"additionalProperties":false}`

// ask sends the client a request and gives its result.
func ask(c *rpc.Call, method, params string) (result map[string]any, err error) {
	message, err := c.Ask(method, []byte(params))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result map[string]any
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(message, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, errors.New(method + ": " + answer.Error.Message)
	}
	return answer.Result, nil
}

func elicits(name, description, message, schema string) rpc.Tool {
	return rpc.Tool{Name: name, Description: description, Raw: true, Queue: alone, Run: func(c *rpc.Call) error {
		return elicit(c, message, schema)
	}}
}

func elicit(c *rpc.Call, message, schema string) error {
	params := append(wire.AppendString([]byte(`{"message":`), message), `,"requestedSchema":`+schema+`}`...)
	result, err := ask(c, "elicitation/create", string(params))
	if err != nil {
		return err
	}
	content, _ := json.Marshal(result["content"])
	return say(c, "Elicitation completed: action=%v, content=%s", result["action"], content)
}

// askingTools ask the client while they run, as servers may up to MCP 2025-11-25.
func askingTools() []rpc.Tool {
	return []rpc.Tool{
		{Name: "test_sampling", Description: "Has the client's model answer a prompt.", Raw: true, Queue: alone,
			Params: []rpc.Param{{Name: "prompt", Type: rpc.String, Description: "for the model", Required: true}},
			Run: func(c *rpc.Call) error {
				prompt := wire.AppendString([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":`), c.Str(0))
				result, err := ask(c, "sampling/createMessage", string(prompt)+`}}],"maxTokens":100}`)
				if err != nil {
					return err
				}
				block, _ := result["content"].(map[string]any)
				return say(c, "LLM response: %v", block["text"])
			}},
		{Name: "test_elicitation", Description: "Has the client ask its user.", Raw: true, Queue: alone,
			Params: []rpc.Param{{Name: "message", Type: rpc.String, Description: "for the user", Required: true}},
			Run: func(c *rpc.Call) error {
				return elicit(c, c.Str(0), `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},`+
					`"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)
			}},
		elicits("test_elicitation_sep1034_defaults", "Asks with a default for each kind of field.", "Please review and update the form fields with defaults",
			`{"type":"object","properties":{"name":{"type":"string","description":"User name","default":"John Doe"},`+
				`"age":{"type":"integer","description":"User age","default":30},"score":{"type":"number","description":"User score","default":95.5},`+
				`"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},`+
				`"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}`),
		elicits("test_elicitation_sep1330_enums", "Asks with each kind of choice.", "Please select options from the enum fields",
			`{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},`+
				`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},`+
				`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},`+
				`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},`+
				`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}`),
	}
}

func resources() []rpc.Resource {
	return []rpc.Resource{
		{URI: "test://static-text", Name: "static-text", Description: "A text.", MIMEType: "text/plain", Read: func(c *rpc.Call) error {
			c.Out = append(c.Out, "This is the content of the static text resource."...)
			return nil
		}},
		{URI: "test://static-binary", Name: "static-binary", Description: "An image.", MIMEType: "image/png", Raw: true, Read: func(c *rpc.Call) error {
			c.Out = append(c.Out, `"contents":[{"uri":"test://static-binary","mimeType":"image/png","blob":"`+pixel+`"}]`...)
			if c.Stateless() {
				c.Out = append(c.Out, `,"ttlMs":0,"cacheScope":"private"`...)
			}
			return nil
		}},
		{URI: "test://watched-resource", Name: "watched-resource", Description: "One to subscribe to.", MIMEType: "text/plain", Read: func(c *rpc.Call) error {
			c.Out = append(c.Out, "Watched resource content"...)
			return nil
		}},
	}
}

func templates() []rpc.Template {
	return []rpc.Template{{
		Prefix: "test://template/", Suffix: "/data", Param: rpc.Param{Name: "id", Type: rpc.String},
		Name: "template", Description: "Data of an id.", MIMEType: "application/json",
		Read: func(c *rpc.Call) error {
			c.Out = append(wire.AppendString(append(c.Out, `{"id":`...), c.Str(0)), `,"templateTest":true,"data":`...)
			c.Out = append(wire.AppendString(c.Out, "Data for ID: "+c.Str(0)), '}')
			return nil
		},
	}}
}

func prompts() []rpc.Prompt {
	user := func(block string) string { return `{"role":"user","content":` + block + `}` }
	return []rpc.Prompt{
		{Name: "test_simple_prompt", Title: "Simple", Description: "A prompt without arguments.", Render: func(c *rpc.Call) error {
			c.Out = append(c.Out, "This is a simple prompt for testing."...)
			return nil
		}},
		{Name: "test_prompt_with_arguments", Title: "With arguments", Description: "A prompt with two arguments.", Params: []rpc.Param{
			{Name: "arg1", Description: "First test argument", Required: true},
			{Name: "arg2", Description: "Second test argument", Required: true},
		}, Render: func(c *rpc.Call) error {
			c.Out = fmt.Appendf(c.Out, "Prompt with arguments: arg1='%s', arg2='%s'", c.Str(0), c.Str(1))
			return nil
		}},
		{Name: "test_prompt_with_embedded_resource", Title: "With a resource", Description: "A prompt with a resource in it.", Raw: true, Params: []rpc.Param{
			{Name: "resourceUri", Description: "URI of the resource to embed", Required: true},
		}, Render: func(c *rpc.Call) error {
			c.Out = append(c.Out, `"messages":[`+user(resourceBlock(c.Str(0)))+`,`+
				user(`{"type":"text","text":"Please process the embedded resource above."}`)+`]`...)
			return nil
		}},
		{Name: "test_prompt_with_image", Title: "With an image", Description: "A prompt with an image in it.", Raw: true, Render: func(c *rpc.Call) error {
			c.Out = append(c.Out, `"messages":[`+user(imageBlock)+`,`+user(`{"type":"text","text":"Please analyze the image above."}`)+`]`...)
			return nil
		}},
		{Name: "test_input_required_result_prompt", Description: "A prompt that asks for its context.", Raw: true, Render: func(c *rpc.Call) error {
			in := inputOf(c)
			if words, ok := in.accepted("user_context"); ok {
				c.Out = append(append(c.Out, `"messages":[`...), user(string(text(nil, fmt.Sprintf("Context: %v", words["context"]))))...)
				c.Out = append(c.Out, ']')
				return nil
			}
			return require(c, "", question("user_context", "What context should the prompt use?", "context", "string"))
		}},
	}
}
