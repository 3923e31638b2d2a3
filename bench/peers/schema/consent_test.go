package schema

import (
	"testing"
)

// heater is a board file with a line that a person confirms.
const heater = "[[line]]\nline = \"GPIO17\"\nname = \"heater\"\naccess = \"write\"\nconfirm = true\n"

var heat = obj{"name": "gpio_write", "arguments": obj{"line": "heater", "level": 1}}

// A stateless client gets the question as a result, and brings the answer with the
// next call.
func TestAQuestionToAStatelessClient(t *testing.T) {
	o := loadOfficial(t, modern)
	for _, f := range framings {
		t.Run(string(f), func(t *testing.T) {
			s := open(t, o, f, heater)
			canAsk := obj{"io.modelcontextprotocol/clientCapabilities": obj{"elicitation": obj{}}}
			question := func() (state any) {
				t.Helper()
				r := s.request("tools/call", obj{"name": heat["name"], "arguments": heat["arguments"], "_meta": canAsk})
				s.mustBeRequest(r)
				s.send(text(r))
				got := s.answerTo(r["id"])
				checkMembers(t, got, "jsonrpc", "id", "result")
				o.check(t, "CallToolResultResponse", got)
				o.check(t, "InputRequiredResult", got["result"])
				o.check(t, "InputRequests", in(got, "result.inputRequests"))
				o.check(t, "ElicitRequest", in(got, "result.inputRequests.confirm"))
				o.check(t, "ElicitRequestFormParams", in(got, "result.inputRequests.confirm.params"))
				if in(got, "result.resultType") != "input_required" || in(got, "result._meta") == nil {
					t.Fatalf("no question: %s", show(got))
				}
				return in(got, "result.requestState")
			}
			retry := func(state any, answer obj) obj {
				t.Helper()
				return s.ask("tools/call", obj{"name": heat["name"], "arguments": heat["arguments"], "_meta": canAsk,
					"requestState": state, "inputResponses": obj{"confirm": answer}})
			}
			yes := obj{"action": "accept", "content": obj{"confirm": true}}
			state := question()
			if got := retry(state, yes); got["isError"] != nil {
				t.Errorf("after the yes: %s", show(got))
			}
			for _, no := range []obj{{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": obj{"confirm": false}}} {
				if got := retry(question(), no); got["isError"] != true {
					t.Errorf("after %s: %s", show(no), show(got))
				}
			}
			s.refused("tools/call", obj{"name": heat["name"], "arguments": heat["arguments"], "_meta": canAsk,
				"requestState": state, "inputResponses": obj{"confirm": yes}}, -32602)
			s.refused("tools/call", heat, -32021) // it does not say that it can ask
			s.close()
		})
	}
}

// An older client is asked by a request of the server's own.
func TestAQuestionToAClientWithASession(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		o := loadOfficial(t, version)
		for _, f := range framings {
			t.Run(version+"/"+string(f), func(t *testing.T) {
				s := &session{server: start(t, f, heater), t: t, official: o, asked: map[string]bool{}}
				s.ask("initialize", obj{"protocolVersion": version, "capabilities": obj{"elicitation": obj{}}, "clientInfo": obj{"name": "schema-test", "version": "1"}})
				s.notify("notifications/initialized", nil)
				// call sends the call and gives its id and that of the question.
				call := func() (id, asked any) {
					t.Helper()
					r := s.request("tools/call", heat)
					s.mustBeRequest(r)
					s.send(text(r))
					got, ok := s.next().(obj)
					if !ok || got["method"] != "elicitation/create" {
						t.Fatalf("a question was due, and %s came", show(got))
					}
					if err := o.def(t, "JSONRPCRequest").Validate(got); err != nil { // whose params name no member of a method's own
						t.Errorf("%s is no JSONRPCRequest: %v", show(got), err)
					}
					checkMessage(t, o, got)
					body := got
					if !names(o.def(t, "ElicitRequest"), "jsonrpc") {
						body = without(without(got, "jsonrpc"), "id")
					}
					o.check(t, "ElicitRequest", body)
					if err := o.def(t, "ServerRequest").Validate(body); err != nil {
						t.Errorf("%s is no ServerRequest: %v", show(got), err)
					}
					return r["id"], got["id"]
				}
				answer := func(id any, result obj) {
					t.Helper()
					v, err := decode([]byte(text(result)))
					if err != nil {
						t.Fatal(err)
					}
					o.check(t, "ElicitResult", v)
					s.send(text(obj{"jsonrpc": "2.0", "id": id, "result": result}))
				}
				for _, want := range []struct {
					answer obj
					fails  bool
				}{{obj{"action": "accept", "content": obj{"confirm": true}}, false}, {obj{"action": "decline"}, true}, {obj{"action": "cancel"}, true}} {
					id, asked := call()
					answer(asked, want.answer)
					if got := s.result("tools/call", s.answerTo(id)); (got["isError"] == true) != want.fails {
						t.Errorf("after %s: %s", show(want.answer), show(got))
					}
				}
				// A call that is given up takes its question back.
				id, asked := call()
				s.notify("notifications/cancelled", obj{"requestId": id})
				got, ok := s.next().(obj)
				if !ok || got["method"] != "notifications/cancelled" || text(in(got, "params.requestId")) != text(asked) {
					t.Fatalf("the end of the question was due, and %s came", show(got))
				}
				checkMessage(t, o, got)
				body := got
				if !names(o.def(t, "CancelledNotification"), "jsonrpc") {
					body = without(got, "jsonrpc")
				}
				o.check(t, "CancelledNotification", body)
				if err := o.def(t, "ServerNotification").Validate(got); err != nil {
					t.Errorf("%s is no ServerNotification: %v", show(got), err)
				}
				s.ask("ping", nil)
				s.close()
			})
		}
	}
}

// A client that cannot ask is told so by the tool, in its revision's shape.
func TestNoQuestionToAClientThatCannotAsk(t *testing.T) {
	for _, version := range revisions[:4] {
		o := loadOfficial(t, version)
		t.Run(version, func(t *testing.T) {
			s := open(t, o, newline, heater)
			if got := s.ask("tools/call", heat); got["isError"] != true {
				t.Errorf("%s", show(got))
			}
			s.close()
		})
	}
}
