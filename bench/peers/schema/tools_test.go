package schema

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// calls are calls of every tool, with arguments that are right and wrong.
var calls = map[string]struct {
	right []obj // what the input schema takes, and the tool too
	board []obj // what the input schema takes, and the board refuses
	wrong []obj // what the input schema refuses
}{
	"board_info": {
		right: []obj{{}},
		wrong: []obj{{"x": 1}},
	},
	"gpio_list": {
		right: []obj{{}, {"match": "gpio1"}, {"match": "no such"}, {"offset": 40}, {"offset": 1000}, {"match": "GPIO", "offset": 3}},
		wrong: []obj{{"match": 7}, {"offset": -1}, {"offset": "x"}, {"offset": 1000001}, {"Match": "x"}},
	},
	"gpio_read": {
		right: []obj{{"lines": []any{"GPIO17"}}, {"lines": []any{"GPIO17", "GPIO27", "GPIO2"}}},
		board: []obj{{"lines": []any{"nope"}}, {"lines": []any{"GPIO17", "nope"}}, {"lines": []any{"GPIO8"}}, {"lines": []any{""}}},
		wrong: []obj{{}, {"lines": 17}, {"lines": []any{}}, {"lines": []any{17}}, {"lines": slices.Repeat([]any{"GPIO17"}, 65)}, {"lines": nil},
			{"lines": []any{"GPIO17"}, "Lines": []any{"GPIO27"}}},
	},
	"gpio_write": {
		right: []obj{{"line": "GPIO22", "level": 1}, {"line": "GPIO22", "level": 0, "for_ms": 5}, {"line": "GPIO23", "level": 1, "for_ms": 86400000}},
		board: []obj{{"line": "nope", "level": 1}, {"line": "GPIO8", "level": 1}, {"line": "STATUS_LED_N", "level": 0}},
		wrong: []obj{{}, {"line": "GPIO22"}, {"level": 1}, {"line": "GPIO22", "level": 2}, {"line": "GPIO22", "level": 0.5}, {"line": "GPIO22", "level": "1"},
			{"line": "GPIO22", "level": true}, {"line": "GPIO22", "level": 1, "for_ms": 0}, {"line": "GPIO22", "level": 1, "for_ms": 86400001}, {"line": 22, "level": 1}},
	},
	"i2c_scan": {
		right: []obj{{}, {"bus": 1}, {"first": "0x50", "last": "0x57"}, {"first": "112"}},
		board: []obj{{"bus": 7}, {"bus": -1}, {"first": "0x60", "last": "0x50"}, {"first": "0x03"}, {"last": "0x7f"}, {"first": "x"}},
		wrong: []obj{{"bus": "1"}, {"bus": 1.5}, {"first": true}, {"last": []any{}}, {"x": 1}},
	},
	"i2c_read": {
		right: []obj{{"address": "0x76", "register": "0xd0"}, {"bus": 1, "address": "0x76", "register": "0x88", "length": 24},
			{"address": "80", "register": "0", "register_width": 2, "length": 256}, {"address": "0x50"}},
		board: []obj{{"address": "0x42"}, {"address": "0x68"}, {"address": "0x03"}, {"address": "0x78"}, {"address": "x"}, {"address": ""},
			{"address": "0x76", "register": "0x100"}, {"address": "0x76", "register_width": 1}, {"bus": 3, "address": "0x76"}},
		wrong: []obj{{}, {"address": true}, {"address": "0x76", "length": 0}, {"address": "0x76", "length": 257}, {"address": "0x76", "register_width": 3},
			{"address": "0x76", "register": 1.5}, {"address": "0x76", "length": "1"}},
	},
	"i2c_write": {
		right: []obj{{"address": "0x50", "register": "0x10", "register_width": 2, "data": "0a ff"}, {"address": "0x76", "register": "0xf4", "data": "27"}},
		board: []obj{{"address": "0x42", "data": "00"}, {"address": "0x68", "data": "00"}, {"address": "0x76", "data": "0"}, {"address": "0x76", "data": "xx"},
			{"address": "0x76", "data": ""}},
		wrong: []obj{{}, {"address": "0x76"}, {"data": "00"}, {"address": "0x76", "data": 0}, {"address": "0x76", "data": []any{1}}},
	},
	"sensor_list": {
		right: []obj{{}, {"offset": 0}, {"offset": 1}, {"offset": 99}},
		wrong: []obj{{"offset": -1}, {"offset": "0"}, {"x": 1}},
	},
	"sensor_read": {
		right: []obj{{"sensor": "cpu-thermal"}, {"sensor": "supply"}, {"sensor": "cpu-fan"}},
		board: []obj{{"sensor": "nope"}, {"sensor": ""}},
		wrong: []obj{{}, {"sensor": 1}, {"sensor": nil}, {"sensor": []any{"supply"}}},
	},
}

// driveTools calls every tool that the server lists.
func driveTools(s *session) {
	s.t.Helper()
	tools := s.list("tools/list")
	outputs := outputSchemas(s.t)
	var have []string
	for _, tool := range tools {
		name := tool["name"].(string)
		have = append(have, name)
		plan, ok := calls[name]
		if !ok {
			continue // said below
		}
		input := compile(s.t, s.official.version+"/"+name+"/input", tool["inputSchema"])
		if tool["outputSchema"] != nil {
			s.t.Errorf("%s lists an output schema, which would be two fifths of the list", name)
		}
		output := compile(s.t, s.official.version+"/"+name+"/output", outputs[name])
		takes := func(arguments obj) bool {
			v, err := decode([]byte(text(arguments)))
			if err != nil {
				s.t.Fatal(err)
			}
			return input.Validate(v) == nil
		}
		call := func(arguments obj) obj {
			s.t.Helper()
			params := obj{"name": name, "arguments": arguments}
			if len(arguments) == 0 {
				delete(params, "arguments")
			}
			return s.ask("tools/call", params)
		}

		for _, arguments := range plan.right {
			if !takes(arguments) {
				s.t.Errorf("the input schema of %s refuses %s", name, text(arguments))
			}
			got := call(arguments)
			if got["isError"] != nil {
				s.t.Errorf("%s %s failed: %s", name, text(arguments), show(got))
				continue
			}
			// The text is the same JSON, for clients that know no structuredContent.
			content, err := decode([]byte(in(got, "content.0.text").(string)))
			if err != nil {
				s.t.Errorf("the text of %s is no JSON: %v", name, err)
			}
			if structured := got["structuredContent"]; structured != nil {
				if text(structured) != text(content) {
					s.t.Errorf("%s says %s in words and %s in structure", name, text(content), text(structured))
				}
			} else if s.official.def(s.t, "CallToolResult").Properties["structuredContent"] != nil {
				s.t.Errorf("%s gives no structuredContent", name)
			}
			if err := output.Validate(content); err != nil {
				s.t.Errorf("%s %s gives %s: %v", name, text(arguments), show(content), err)
			}
			for _, path := range strangers(name, content, output) {
				s.t.Errorf("%s is not in the output schema", path)
			}
		}
		for _, arguments := range append(slices.Clone(plan.board), plan.wrong...) {
			got := call(arguments)
			if got["isError"] != true {
				s.t.Errorf("%s takes %s: %s", name, text(arguments), show(got))
			}
			if got["structuredContent"] != nil {
				s.t.Errorf("%s failed and gives structuredContent that its output schema does not have: %s", name, show(got))
			}
		}
		for _, arguments := range plan.board {
			if !takes(arguments) {
				s.t.Errorf("the input schema of %s refuses %s", name, text(arguments))
			}
		}
		for _, arguments := range plan.wrong {
			if takes(arguments) {
				s.t.Errorf("the input schema of %s takes %s", name, text(arguments))
			}
		}
	}
	slices.Sort(have)
	if want := slices.Sorted(maps.Keys(calls)); !slices.Equal(have, want) {
		s.t.Errorf("the server lists the tools %v, and the test calls %v", have, want)
	}
}

// outputSchemas gives every tool's output schema, which only the Content-Length
// MCP lists, though the text of a result is the same in all.
func outputSchemas(t testing.TB) obj {
	t.Helper()
	c := startV1(t)
	c.initialize()
	all := obj{}
	for _, tool := range c.list("mcp/listTools", toolDefinition) {
		all[strings.TrimSuffix(strings.TrimPrefix(tool["mcpId"].(string), "mcp://boardhand/tools/"), ":v1")] = tool["outputSchema"]
	}
	c.close()
	return all
}

// The schemas name what a tool has in each revision: title and annotations are
// newer than tools.
func TestNewerMembersAreSeen(t *testing.T) {
	tool := `{"name":"x","title":"X","description":"d","inputSchema":{"type":"object","additionalProperties":false},` +
		`"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"title":"X"},"icons":[{"src":"data:,"}],"_meta":{"any":1}}`
	for version, want := range map[string][]string{
		"2024-11-05": {"Tool._meta", "Tool.annotations", "Tool.icons", "Tool.outputSchema", "Tool.title"},
		"2025-03-26": {"Tool._meta", "Tool.icons", "Tool.outputSchema", "Tool.title"},
		"2025-06-18": {"Tool.icons"},
		"2025-11-25": nil,
		modern:       nil,
	} {
		o := loadOfficial(t, version)
		v, err := decode([]byte(tool))
		if err != nil {
			t.Fatal(err)
		}
		if got := strangers("Tool", v, o.def(t, "Tool")); !slices.Equal(got, want) {
			t.Errorf("in %s a tool has no %v; found %v", version, want, got)
		}
		v = obj{"tools": []any{obj{"name": "x", "inputSchema": obj{"type": "object"}, "new": true}}, "newer": 1, "resultType": "complete",
			"ttlMs": 0, "cacheScope": "public"}
		if got := strangers("", v, o.def(t, "ListToolsResult")); !slices.Contains(got, ".newer") || !slices.Contains(got, ".tools[0].new") {
			t.Errorf("in %s only %v is seen", version, got)
		}
		v = obj{"content": []any{obj{"type": "text", "text": "x", "mimeType": "text/plain"}}}
		if got := strangers("", v, o.def(t, "CallToolResult")); !slices.Equal(got, []string{".content[0].mimeType"}) {
			t.Errorf("in %s only %v is seen", version, got)
		}
	}
}
