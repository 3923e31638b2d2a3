package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
)

// can shows the interfaces and frames that are open.
type can struct {
	naming
	inner device.CAN
	bound []CAN
	send  [][]canFilter // of each rule
	shown [][]canFilter
}

func newCAN(inner device.CAN, r *Rules) *can {
	c := &can{naming: newNaming(r, "can", "CAN interface", len(r.CAN), AccessRead, func(i int) (*Rule, string) {
		return &r.CAN[i].Rule, r.CAN[i].Interface
	}), inner: inner, bound: r.CAN}
	for i := range r.CAN {
		c.send = append(c.send, canFilters(r.CAN[i].Send))
		c.shown = append(c.shown, canFilters(r.CAN[i].Receive))
	}
	return c
}

// CAN implements device.Board: it is nil where no interface is open.
func (b *Board) CAN() device.CAN {
	if b.can == nil {
		return nil
	}
	return b.can
}

// canFilter is one identifier and the bits of it that count.
type canFilter struct {
	id, mask uint32
	extended bool
}

// canFilters reads what Check has read before.
func canFilters(texts []string) []canFilter {
	var all []canFilter
	for _, text := range texts {
		f, _ := parseCANFilter(text)
		all = append(all, f)
	}
	return all
}

// parseCANFilter reads an identifier of 1 to 3 hex digits, or of 8 an extended one,
// with a mask behind a slash or not.
func parseCANFilter(text string) (canFilter, error) {
	id, mask, masked := strings.Cut(strings.ToLower(text), "/")
	f := canFilter{mask: device.MaxExtendedCANID, extended: len(id) == 8}
	v, err := strconv.ParseUint(id, 16, 32)
	m, err2 := uint64(f.mask), error(nil)
	if masked {
		m, err2 = strconv.ParseUint(mask, 16, 32)
	}
	most := uint64(device.MaxCANID)
	if f.extended {
		most = device.MaxExtendedCANID
	}
	if err != nil || err2 != nil || !f.extended && len(id) > 3 || v > most || m > device.MaxExtendedCANID {
		return f, errors.New(`an identifier in hex, up to 3 digits or extended 8, as "7e0" or "18da00f1", with a mask as "7e0/7f8" or not, is allowed`)
	}
	f.id, f.mask = uint32(v), uint32(m)
	return f, nil
}

// match says whether any of the filters has the frame; where there are none, yes.
func match(all []canFilter, f *device.CANFrame) bool {
	for _, x := range all {
		if f.Extended == x.extended && f.ID&x.mask == x.id&x.mask {
			return true
		}
	}
	return len(all) == 0
}

// Links implements device.CAN.
func (c *can) Links(dst []device.CANLink) ([]device.CANLink, error) {
	begin := len(dst)
	dst, err := c.inner.Links(dst)
	keep := dst[:begin]
	for _, l := range dst[begin:] {
		if t, open := c.of(l.Name); open {
			l.Name, l.Description = t.shown, t.description()
			keep = append(keep, l)
		}
	}
	return keep, err
}

// Find implements device.Finder.
func (c *can) Find(name string) (string, error) { return c.shownOf(name) }

// Send implements device.CAN.
func (c *can) Send(name string, f *device.CANFrame, deadline time.Time) (time.Time, uint64, error) {
	t, err := c.writable(name)
	if err != nil {
		return time.Time{}, 0, err
	}
	if t.rule != nil && !match(c.send[t.index], f) {
		return time.Time{}, 0, c.rules.refusal(t.at(), c.subject(t.shown), fmt.Sprintf("a frame with the id %s may not be sent", f), "send has "+listed(c.bound[t.index].Send))
	}
	when, next, err := c.inner.Send(t.own, f, deadline)
	return when, next, c.err(t, err)
}

// Receive implements device.CAN: frames that are not open are passed over.
func (c *can) Receive(name string, w device.CANWanted, dst []device.CANReceived) ([]device.CANReceived, device.CANTaken, error) {
	t, err := c.find(name)
	if err != nil {
		return dst, device.CANTaken{}, err
	}
	if t.rule != nil && c.shown[t.index] != nil {
		shown, wanted := c.shown[t.index], w.Match
		w.Match = func(f *device.CANFrame) device.CANVerdict {
			switch {
			case !f.Error && !match(shown, f):
				return device.CANSkip
			case wanted != nil:
				return wanted(f)
			}
			return device.CANTake
		}
	}
	dst, taken, err := c.inner.Receive(t.own, w, dst)
	return dst, taken, c.err(t, err)
}

// err is the board's error under the user's names, those of the others too.
func (c *can) err(t *thing, err error) error {
	e, ok := err.(*device.Error)
	if !ok || e.Kind != device.ErrNotFound {
		return named(err, t.own, t.shown)
	}
	var names []string
	links, _ := c.Links(nil)
	for i := range links {
		names = append(names, links[i].Name)
	}
	return &device.Error{Subject: c.subject(t.shown), Kind: device.ErrNotFound, Hint: "this board has " + listed(names)}
}
