package bench

import (
	"fmt"
	"strings"
)

// OpenFile is a board file that opens everything, so that each call passes the gate and
// the policy, and none is refused.
const OpenFile = "allow = \"everything\"\n"

// LargeFile is a board file of 500 lines, with rules of every kind that a start has to
// look at.
func LargeFile() string {
	var s strings.Builder
	s.WriteString("name = \"large\"\n[limits]\ncalls = \"1000000/s\"\n[tools]\nconfirm = [\"i2c_write\"]\n")
	for i := range 54 {
		fmt.Fprintf(&s, "\n[[line]]\nline = \"GPIO%d\"\nname = \"line_%d\"\ndescription = \"The line number %d of the connector\"\naccess = \"write\"\n"+
			"safe = \"low\"\nmax_on = \"30s\"\n", i, i, i)
	}
	s.WriteString("\n[[i2c]]\nbus = 1\naddress = 0x76\nname = \"climate\"\n")
	for i := range 10 {
		fmt.Fprintf(&s, "\n[[i2c.register]]\nregister = %d\nname = \"register_%d\"\ntype = \"u8\"\naccess = \"read\"\n", i, i)
	}
	return s.String()
}
