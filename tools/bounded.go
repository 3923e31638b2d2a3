package tools

import (
	"fmt"

	"boardhand/rpc"
)

// bounded is the Integer argument i, which an error calls name, or def where it was
// not given.
// The list of tools is read by every client, so bounds that hardly matter to a
// caller are not in it: they are here.
func bounded(c *rpc.Call, i int, name string, low, high, def int64) (int64, error) {
	n := c.IntOr(i, def)
	if c.Has(i) && (n < low || n > high) {
		return 0, fmt.Errorf("%s is %d; %d to %d are allowed", name, n, low, high)
	}
	return n, nil
}
