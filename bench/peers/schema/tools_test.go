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
		board: []obj{{"offset": -1}, {"offset": 1000001}},
		wrong: []obj{{"match": 7}, {"offset": "x"}, {"Match": "x"}},
	},
	"gpio_read": {
		right: []obj{{"lines": []any{"GPIO17"}}, {"lines": []any{"GPIO17", "GPIO27", "GPIO2"}}},
		board: []obj{{"lines": []any{}}, {"lines": []any{"nope"}}, {"lines": []any{"GPIO17", "nope"}}, {"lines": []any{"GPIO8"}}, {"lines": []any{""}}},
		wrong: []obj{{}, {"lines": 17}, {"lines": []any{17}}, {"lines": slices.Repeat([]any{"GPIO17"}, 65)}, {"lines": nil},
			{"lines": []any{"GPIO17"}, "Lines": []any{"GPIO27"}}},
	},
	"gpio_write": {
		right: []obj{{"line": "GPIO22", "level": 1}, {"line": "GPIO22", "level": 0, "for_ms": 5}, {"line": "GPIO23", "level": 1, "for_ms": 86400000}},
		board: []obj{{"line": "nope", "level": 1}, {"line": "GPIO8", "level": 1}, {"line": "STATUS_LED_N", "level": 0},
			{"line": "GPIO22", "level": 1, "for_ms": 0}, {"line": "GPIO22", "level": 1, "for_ms": 86400001}},
		wrong: []obj{{}, {"line": "GPIO22"}, {"level": 1}, {"line": "GPIO22", "level": 2}, {"line": "GPIO22", "level": 0.5}, {"line": "GPIO22", "level": "1"},
			{"line": "GPIO22", "level": true}, {"line": 22, "level": 1}},
	},
	"gpio_configure": {
		right: []obj{{"line": "GPIO24", "set": "in pull_up debounce_us=5000"}, {"line": "GPIO24", "set": "high,open_drain"}, {"line": "GPIO24", "set": "release"}},
		board: []obj{{"line": "nope", "set": "in"}, {"line": "GPIO8", "set": "in"}, {"line": "GPIO24", "set": ""}, {"line": "GPIO24", "set": "up"},
			{"line": "GPIO24", "set": "low high"}, {"line": "GPIO24", "set": "in open_drain"}},
		wrong: []obj{{}, {"line": "GPIO24"}, {"set": "in"}, {"line": "GPIO24", "set": []any{"in"}}, {"line": 24, "set": "in"}, {"line": "GPIO24", "direction": "in"}},
	},
	"gpio_wait": {
		right: []obj{{"lines": []any{"GPIO4"}, "until": "high"}, {"lines": []any{"GPIO25", "GPIO26"}, "timeout_ms": 5}, {"lines": []any{"GPIO25"}, "until": "rising", "count": 10, "timeout_ms": 1}},
		board: []obj{{"lines": []any{}}, {"lines": []any{"nope"}}, {"lines": []any{"GPIO25", "GPIO25"}}, {"lines": []any{"CAM_GPIO0"}}, {"lines": []any{"GPIO25"}, "count": 0},
			{"lines": []any{"GPIO25"}, "timeout_ms": 60001}, {"lines": []any{"GPIO25"}, "until": "low", "count": 2}},
		wrong: []obj{{}, {"lines": slices.Repeat([]any{"GPIO25"}, 17)}, {"lines": []any{"GPIO25"}, "until": "up"}, {"lines": []any{"GPIO25"}, "count": "1"}},
	},
	"gpio_pulse": {
		right: []obj{{"line": "GPIO24", "high_us": 1}, {"line": "GPIO24", "high_us": 100, "low_us": 1, "count": 5}},
		board: []obj{{"line": "nope", "high_us": 1}, {"line": "GPIO8", "high_us": 1}, {"line": "GPIO24", "high_us": 0}, {"line": "GPIO24", "high_us": 10000000, "count": 4}},
		wrong: []obj{{}, {"line": "GPIO24"}, {"line": "GPIO24", "high_us": 1.5}, {"line": "GPIO24", "high_us": 1, "count": "2"}},
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
			{"address": "0x76", "register": "0x100"}, {"address": "0x76", "register_width": 1}, {"bus": 3, "address": "0x76"},
			{"address": "0x76", "length": 0}, {"address": "0x76", "length": 257}, {"address": "0x76", "register": "0", "register_width": 3}},
		wrong: []obj{{}, {"address": true},
			{"address": "0x76", "register": 1.5}, {"address": "0x76", "length": "1"}},
	},
	"i2c_write": {
		right: []obj{{"address": "0x50", "register": "0x10", "register_width": 2, "data": "0a ff"}, {"address": "0x76", "register": "0xf4", "data": "27"}},
		board: []obj{{"address": "0x42", "data": "00"}, {"address": "0x68", "data": "00"}, {"address": "0x76", "data": "0"}, {"address": "0x76", "data": "xx"},
			{"address": "0x76", "data": ""}},
		wrong: []obj{{}, {"address": "0x76"}, {"data": "00"}, {"address": "0x76", "data": 0}, {"address": "0x76", "data": []any{1}}},
	},
	"can_send": {
		right: []obj{{"id": "7e0", "data": "02 01 0c"}, {"interface": "can0", "id": "18ff1234"}, {"id": "1x", "format": "rtr", "data": "0000"},
			{"id": "0x123", "format": "fd_brs", "data": strings.Repeat("00", 64)}, {"id": "123", "format": "fd"}},
		board: []obj{{"id": "12345"}, {"id": "800"}, {"id": ""}, {"id": "1", "interface": "can7"}, {"id": "1", "data": strings.Repeat("00", 9)},
			{"id": "1", "data": strings.Repeat("00", 13), "format": "fd"}, {"id": "1", "data": "x"}},
		wrong: []obj{{}, {"id": 1}, {"id": "1", "format": "xl"}, {"id": "1", "data": 0}, {"id": "1", "interface": 0}, {"id": "1", "fd": true}},
	},
	"can_receive": {
		right: []obj{{"timeout_ms": 0}, {"count": 1}, {"interface": "can0", "timeout_ms": 250, "filter": "100,7e8/7f8"}, {"offset": 0, "timeout_ms": 0},
			{"offset": 1000000, "timeout_ms": 0}, {"filter": "18feee00/00ffff00", "timeout_ms": 0}},
		board: []obj{{"filter": "xyz"}, {"filter": "7e8/"}, {"interface": "can7"}, {"offset": -1}},
		wrong: []obj{{"count": 0}, {"count": 201}, {"timeout_ms": -1}, {"timeout_ms": 60001}, {"filter": 123}, {"filter": []any{"123"}}, {"offset": "0"}},
	},
	"spi_transfer": {
		right: []obj{{"device": "spidev0.0", "data": "9f +3"}, {"device": "spidev0.1", "data": "01 80 00", "mode": 3, "speed_hz": 500000, "bits": 8, "lsb_first": false},
			{"device": "spidev0.0", "data": "06 +0; 04 +0; 05 50us +1"}},
		board: []obj{{"data": "9f"}, {"device": "spidev1.0", "data": "9f"}, {"device": "spidev0.0", "data": ""}, {"device": "spidev0.0", "data": "9"},
			{"device": "spidev0.0", "data": "+1025"}, {"device": "spidev0.0", "data": "9f", "mode": 4}, {"device": "spidev0.0", "data": "9f", "bits": 9},
			{"device": "spidev0.0", "data": "9f", "speed_hz": -1}, {"device": "spidev0.0", "data": "9f", "lsb_first": true}},
		wrong: []obj{{}, {"device": "spidev0.0"}, {"device": 0, "data": "9f"}, {"device": "spidev0.0", "data": 9}, {"device": "spidev0.0", "data": []any{"9f"}},
			{"device": "spidev0.0", "data": "9f", "mode": "0"}, {"device": "spidev0.0", "data": "9f", "speed_hz": 0.5}, {"device": "spidev0.0", "data": "9f", "lsb_first": 1}},
	},
	"pwm_set": {
		right: []obj{{"channel": "pwmchip0/0", "duty": "25%"}, {"channel": "pwmchip0/0", "duty": "1.5ms", "period": "50Hz", "inverted": true},
			{"channel": "3f20c000.pwm/1", "duty": "off", "period": "20ms"}},
		board: []obj{{"channel": "pwmchip0/7", "duty": "25%"}, {"channel": "pwmchip0/0", "duty": "25"}, {"channel": "pwmchip0/0", "duty": "101%"},
			{"channel": "pwmchip0/0", "duty": "1s", "period": "1ms"}, {"channel": "pwmchip0/0", "duty": "1%", "period": "0Hz"}},
		wrong: []obj{{}, {"channel": "pwmchip0/0"}, {"duty": "25%"}, {"channel": 0, "duty": "25%"}, {"channel": "pwmchip0/0", "duty": 25},
			{"channel": "pwmchip0/0", "duty": "25%", "period": 50}, {"channel": "pwmchip0/0", "duty": "25%", "inverted": "yes"}},
	},
	"led_set": {
		right: []obj{{"led": "ACT", "state": "on"}, {"led": "PWR", "state": "40%"}, {"led": "PWR", "state": "7"}, {"led": "ACT", "state": "heartbeat"},
			{"led": "ACT", "state": "timer 100 900"}},
		board: []obj{{"led": "nope", "state": "on"}, {"led": "ACT", "state": "2"}, {"led": "ACT", "state": "disco"}, {"led": "ACT", "state": ""},
			{"led": "ACT", "state": "timer 0 1"}},
		wrong: []obj{{}, {"led": "ACT"}, {"state": "on"}, {"led": "ACT", "state": 1}, {"led": "ACT", "state": true}},
	},
	"uart_list": {
		right: []obj{{}},
		wrong: []obj{{"offset": 1}},
	},
	"uart_exchange": {
		right: []obj{{"port": "ttyUSB0", "data": "*IDN?\n", "until": "\r\n|x"}, {"port": "/dev/ttyUSB0", "data": "55 4e 49 54 3f 0a", "hex": true},
			{"port": "0403:6001", "data": "UNIT?\n", "length": 3, "gap_ms": 1000, "timeout_ms": 60000}, {"port": "ttyUSB0", "timeout_ms": 1, "mode": "115200 8N1"}},
		board: []obj{{"port": "ttyUSB7"}, {"port": "ttyAMA0"}, {"port": ""}, {"port": "ttyUSB0", "hex": true, "data": "x"}, {"port": "ttyUSB0", "until": "|"},
			{"port": "ttyUSB0", "length": 0}, {"port": "ttyUSB0", "gap_ms": 60001}, {"port": "ttyUSB0", "timeout_ms": -1}, {"port": "ttyUSB0", "mode": "fast"}},
		wrong: []obj{{}, {"port": 0}, {"port": "ttyUSB0", "data": 1}, {"port": "ttyUSB0", "hex": "true"}, {"port": "ttyUSB0", "until": []any{"x"}},
			{"port": "ttyUSB0", "length": "1"}, {"port": "ttyUSB0", "baud": 9600}},
	},
	"uart_read": {
		right: []obj{{"port": "ttyUSB0"}, {"port": "ttyUSB0", "since": 3, "hex": true}, {"port": "ttyUSB0", "since": -5, "hex": false}},
		board: []obj{{"port": "ttyUSB7"}, {"port": "ttyAMA0"}, {"port": "ttyUSB0", "since": 1000000000}},
		wrong: []obj{{}, {"port": "ttyUSB0", "since": "0"}, {"port": "ttyUSB0", "since": 0.5}, {"port": "ttyUSB0", "hex": 1}},
	},
	"uart_control": {
		right: []obj{{"port": "ttyUSB0"}, {"port": "ttyUSB0", "mode": "9600 7E2 rtscts"}, {"port": "ttyUSB0", "dtr": false, "rts": false, "break_ms": 1, "mode": "115200 8N1 none"},
			{"port": "ttyUSB1", "close": true}},
		board: []obj{{"port": "ttyUSB7"}, {"port": "ttyAMA0"}, {"port": "ttyUSB0", "rs485": true}, {"port": "ttyUSB0", "break_ms": 0}, {"port": "ttyUSB0", "mode": "8"}},
		wrong: []obj{{}, {"port": "ttyUSB0", "dtr": 1}, {"port": "ttyUSB0", "mode": 9600}, {"port": "ttyUSB0", "close": "yes"}},
	},
	"modbus_read": {
		right: []obj{{"target": "ttyUSB1", "address": 0}, {"target": "ttyUSB1 19200 8E1", "unit": 1, "kind": "input", "address": 2, "type": "f32", "timeout_ms": 30000},
			{"target": "192.0.2.10", "kind": "coil", "address": 0, "count": 16}, {"target": "192.0.2.10:502", "address": 24, "count": 8, "type": "text"},
			{"target": "192.0.2.10", "unit": 255, "kind": "input", "address": 6, "type": "u32 little"}},
		board: []obj{{"target": "ttyUSB7", "address": 0}, {"target": "", "address": 0}, {"target": "ttyUSB1", "address": 100}, {"target": "10.0.0.1", "address": 0},
			{"target": "ttyUSB1", "address": 65536}, {"target": "ttyUSB1", "address": 0, "count": 126}, {"target": "ttyUSB1", "address": 0, "type": "u8"},
			{"target": "ttyUSB1", "address": 0, "unit": 300}, {"target": "ttyUSB1", "address": 0, "unit": 0}, {"target": "ttyUSB1", "address": 0, "timeout_ms": 0}},
		wrong: []obj{{}, {"target": "ttyUSB1"}, {"address": 0}, {"target": 1, "address": 0}, {"target": "ttyUSB1", "address": "0"}, {"target": "ttyUSB1", "address": 0, "kind": "register"},
			{"target": "ttyUSB1", "address": 0, "unit": "1"}, {"target": "ttyUSB1", "address": 0, "type": 16}},
	},
	"modbus_write": {
		right: []obj{{"target": "ttyUSB1", "address": 1, "values": "1,0x10,7"}, {"target": "192.0.2.10", "kind": "coil", "address": 0, "values": "1 0 on"},
			{"target": "ttyUSB1", "unit": 0, "address": 5, "values": "21.5", "type": "f32 little"}},
		board: []obj{{"target": "ttyUSB1", "address": 0, "values": "2000"}, {"target": "ttyUSB1", "address": 0, "values": ""}, {"target": "ttyUSB1", "address": 0, "values": "x"},
			{"target": "ttyUSB1", "address": 24, "values": "1"}, {"target": "ttyUSB1", "kind": "coil", "address": 0, "values": "1", "type": "u16"}},
		wrong: []obj{{}, {"target": "ttyUSB1", "address": 0}, {"target": "ttyUSB1", "address": 0, "values": 1}, {"target": "ttyUSB1", "address": 0, "values": []any{"1"}},
			{"target": "ttyUSB1", "kind": "input", "address": 0, "values": "1"}},
	},
	"system_info": {
		right: []obj{{}},
		wrong: []obj{{"x": 1}},
	},
	"i2c_transfer": {
		right: []obj{{"address": "0x76", "messages": []any{"w d0", "r 1"}}, {"bus": 1, "messages": []any{"w@76 d0", "r@0x76 1"}}},
		board: []obj{{"address": "0x76", "messages": []any{}}, {"messages": []any{"r 1"}}, {"address": "0x76", "messages": []any{"x"}}, {"address": "0x42", "messages": []any{"r 1"}}, {"address": "0x68", "messages": []any{"r 1"}},
			{"address": "0x123", "messages": []any{"r 1"}, "ten_bit": true}},
		wrong: []obj{{}, {"address": "0x76"}, {"address": "0x76", "messages": slices.Repeat([]any{"r 1"}, 43)}, {"address": "0x76", "messages": []any{1}},
			{"address": "0x76", "messages": []any{"r 1"}, "ten_bit": "yes"}},
	},
	"sensor_list": {
		right: []obj{{}, {"offset": 0}, {"offset": 1}, {"offset": 99}, {"match": "CPU"}, {"match": "no such", "offset": -1}},
		wrong: []obj{{"offset": "0"}, {"match": 1}, {"x": 1}},
	},
	"sensor_read": {
		right: []obj{{"sensor": []any{"cpu-thermal"}}, {"sensor": []any{"supply", "cpu-fan"}}, {"sensor": []any{"28-0316a2790f5c"}},
			{"sensor": []any{"adxl345/accel_x", "adxl345/accel_z"}, "samples": 50}, {"sensor": []any{"supply"}, "samples": 1}, {"sensor": []any{"cpu-fan"}, "samples": 3}},
		board: []obj{{"sensor": []any{}}, {"sensor": []any{"nope"}}, {"sensor": []any{""}}, {"sensor": []any{"supply", "nope"}},
			{"sensor": []any{"supply"}, "samples": 0}, {"sensor": []any{"supply"}, "samples": 1001}},
		wrong: []obj{{}, {"sensor": 1}, {"sensor": nil}, {"sensor": slices.Repeat([]any{"supply"}, 17)},
			{"sensor": []any{"supply"}, "samples": "3"}},
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
		// What the schema does not name, the server refuses.
		closed := maps.Clone(tool["inputSchema"].(obj))
		closed["additionalProperties"] = false
		input := compile(s.t, s.official.version+"/"+name+"/input", closed)
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
