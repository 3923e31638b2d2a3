package httpfront

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two clients of different revisions share one stream, and each is answered in its own.
func TestSessionsTakeTurnsOnAStream(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Open = remote(t).Open })
	old, young := begin(t, url, "2025-03-26"), begin(t, url, "2025-11-25")
	call := func(id string) string {
		_, body := send(t, url, exchange{headers: both + "Mcp-Session-Id: " + id + "\n",
			body: `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"read","arguments":{"line":"a"}}}`})
		return body
	}
	for range 3 {
		if body := call(old); strings.Contains(body, "structuredContent") || !strings.Contains(body, `"id":"x"`) {
			t.Errorf("2025-03-26 is answered with %s", body)
		}
		if body := call(young); !strings.Contains(body, `"structuredContent":{"line":"a"}`) {
			t.Errorf("2025-11-25 is answered with %s", body)
		}
		if res, body := send(t, url, exchange{headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: write\n", body: modernCall("tools/call", `"name":"write"`)}); res.StatusCode != 200 || !strings.Contains(body, `"id":7,"result":{"resultType"`) {
			t.Errorf("2026-07-28 is answered with %d %s", res.StatusCode, body)
		}
	}
}

// All have the same id and the same token, and each gets its own.
func TestIdsOfManyClientsOnAStream(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Open = remote(t).Open })
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 {
				res, body := send(t, url, exchange{headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: report\n",
					body: strings.Replace(modernCall("tools/call", `"name":"report"`), `"_meta":{`, `"_meta":{"progressToken":"mine",`, 1)})
				if res.StatusCode != 200 || strings.Count(body, `"progressToken":"mine"`) != 1 || strings.Count(body, `"id":7,"result"`) != 1 {
					t.Errorf("%d %s", res.StatusCode, body)
				}
			}
		})
	}
	all.Wait()
}

func TestAStreamsCallIsCancelled(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Open = remote(t).Open; c.KeepAlive = 10 * time.Millisecond })
	res, cancel := stream(t, url, "POST", modernHead+"Mcp-Method: tools/call\nMcp-Name: wait\n", modernCall("tools/call", `"name":"wait"`))
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-cancelled:
	case <-time.After(5 * time.Second):
		t.Error("the call goes on")
	}
}

func TestAServerThatEndsIsSaid(t *testing.T) {
	in, _ := io.Pipe()
	r := NewRemote(io.Discard, 0, 0)
	url, _ := serve(t, func(c *Config) { c.Open = r.Open })
	go func() {
		time.Sleep(50 * time.Millisecond)
		in.CloseWithError(io.ErrUnexpectedEOF)
	}()
	go func() { _ = r.Run(in, 1<<20) }()
	for range 2 { // one that waits, and one that comes after
		_, body := send(t, url, exchange{headers: modernHead + "Mcp-Method: tools/list\n", body: modernCall("tools/list", "")})
		if !strings.Contains(body, `"id":7,"error":{"code":-32603`) || !strings.Contains(body, "gone") {
			t.Errorf("%s", body)
		}
	}
}
