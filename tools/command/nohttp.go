//go:build board

package command

import "io"

// overHTTP is not in the program for a board.
func overHTTP(string, []string, io.Writer, io.Writer) (code int, ok bool) { return 0, false }
