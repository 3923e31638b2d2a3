//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"
)

// canPair checks that a frame sent at one controller arrives at another on the
// same bus, both of which the tests have brought up.
func canPair(from, to string) check {
	return check{fmt.Sprintf("can_send at %s reaches %s", from, to), func(b *board) error {
		var got struct {
			Link   string
			Frames []struct{ ID, Data string }
			Next   uint64
		}
		if err := b.mcp.tool("can_receive", arguments{"interface": to, "timeout_ms": 0}, &got); err != nil {
			return err
		}
		if !strings.HasPrefix(got.Link, "up, ERROR-ACTIVE, 500000 bit/s") {
			return fmt.Errorf("the link is %q", got.Link)
		}
		var sent struct {
			ID   string
			Time time.Time
		}
		if err := b.mcp.tool("can_send", arguments{"interface": from, "id": "18ff1234", "data": "01 02 ff"}, &sent); err != nil {
			return err
		}
		if sent.ID != "18ff1234" || sent.Time.IsZero() {
			return fmt.Errorf("sent %+v", sent)
		}
		if err := b.mcp.tool("can_receive", arguments{"interface": to, "filter": "18ff1234", "count": 1, "timeout_ms": 5000}, &got); err != nil {
			return err
		}
		if len(got.Frames) != 1 || got.Frames[0].ID != "18ff1234" || got.Frames[0].Data != "01 02 ff" {
			return fmt.Errorf("received %+v", got)
		}
		return b.mcp.refused("can_send", arguments{"interface": from, "id": "1", "format": "fd"}, from, "no FD frames", "fd on")
	}}
}
