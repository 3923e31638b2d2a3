package tools

import (
	"bytes"
	"encoding/json"
	"testing"

	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// FuzzCall gives every tool, resource and prompt arguments that anyone may have
// made up: each is answered by exactly one JSON object, and nothing panics.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `[]`, `{"lines":["GPIO17","GPIO99"]}`, `{"lines":"GPIO8"}`, `{"line":"GPIO17","level":1,"for_ms":1}`,
		`{"line":"GPIO40","level":0}`, `{"bus":1,"first":"0x08","last":"0x77"}`, `{"first":119,"last":8}`,
		`{"address":"0x50","register":"0x120","register_width":2,"length":256}`, `{"address":118,"register":208,"length":1e0}`,
		`{"address":"0x50","data":"00 01 02"}`, `{"bus":-9223372036854775808,"address":"0x76"}`, `{"match":"gpio","offset":1000000}`,
		`{"sensor":"cpu-thermal"}`, `{"sensor":"\ud83d\ude00"}`, `{"offset":3}`, `{"line":"GPIO17","line":"GPIO18","level":0}`,
		`{"sensor":["adxl345/accel_x","supply"],"samples":2}`, `{"sensor":"adxl345/accel_z","samples":3}`, `{"sensor":[""],"samples":-1}`,
		`{"port":"ttyUSB0","data":"*IDN?\n","until":"\n|x","timeout_ms":1}`, `{"port":"ttyUSB1","data":"0a","hex":true,"length":1,"mode":"9600 7e1"}`,
		`{"target":"ttyUSB1","address":0,"values":"1,2","type":"u16"}`, `{"target":"192.0.2.10","address":2,"kind":"input","type":"f32 little"}`,
		`{"device":"BME280\u0000\"","bus":"\\"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		if wire.Scan(args, wire.DefaultLimits) != nil {
			return // package rpc refuses it before any tool sees it
		}
		args = bytes.ReplaceAll(bytes.ReplaceAll(args, []byte("\n"), nil), []byte("\r"), nil)
		b := sim.Open(fullWiring)
		defer b.Close()
		cat, guard := Catalogue(b, "0.1.0", func(err error) { t.Error(err) })
		defer guard.Close()
		srv := rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, stack []byte) {
			t.Errorf("%s panicked: %v\n%s", entry, value, stack)
		})
		var out bytes.Buffer
		conn := srv.NewConn(&out)
		defer conn.Close()
		ask := func(method, name string) {
			out.Reset()
			msg := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"name":"`+name+`","arguments":`), args...)
			msg = append(msg, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`...)
			conn.Handle(msg, frame.Newline)
			conn.Wait()
			if err := conn.Flush(); err != nil {
				t.Fatal(err)
			}
			line, found := bytes.CutSuffix(out.Bytes(), []byte("\n"))
			if !found || bytes.IndexByte(line, '\n') >= 0 {
				t.Fatalf("%s answers %q to %s", name, out.Bytes(), args)
			}
			if err := wire.Scan(line, wire.DefaultLimits); err != nil {
				t.Fatalf("%s answers %s to %s: %v", name, line, args, err)
			}
			var a struct {
				Result *struct {
					IsError           bool
					StructuredContent any
				}
				Error *struct{ Code int }
			}
			if err := json.Unmarshal(line, &a); err != nil || (a.Result == nil) == (a.Error == nil) {
				t.Fatalf("%s answers %s to %s: %v", name, line, args, err)
			}
			if a.Result == nil || a.Result.IsError || method != "tools/call" {
				return
			}
			for _, tool := range cat.Tools {
				if tool.Name != name {
					continue
				}
				if err := fits(a.Result.StructuredContent, tool.Result); err != nil {
					t.Fatalf("%s answers %s to %s: %v", name, line, args, err)
				}
			}
		}
		for _, tool := range cat.Tools {
			ask("tools/call", tool.Name)
		}
		for _, p := range cat.Prompts {
			ask("prompts/get", p.Name)
		}
	})
}
