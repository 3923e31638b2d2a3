// Package wire is JSON as boardhand reads and writes it: a strict scanner that
// judges a message and takes it apart, append-style writers, and the error codes
// of JSON-RPC and MCP. It uses the standard library only.
//
// # Reading
//
// Scan says whether a message is exactly one JSON value within limits. A Tree's
// Scan notes on the way where each value begins and ends, so that the message is
// gone over once and only what is asked for is looked at again.
//
// # Writing
//
// A writer appends to the slice it is given and returns the longer slice, as
// append does. It keeps nothing and allocates only when the slice has no room.
//
// Brackets and braces are appended by hand. AppendKey and AppendSep put the
// commas: no JSON value ends in '{' or '[', so such a last byte means that
// nothing stands in the object or array yet, and the writers need no state.
//
//	dst = append(dst, '{')
//	dst = wire.AppendInt(wire.AppendKey(dst, "bus"), 1) // {"bus":1
//	dst = wire.AppendKey(dst, "found")                  // {"bus":1,"found":
//	dst = append(dst, '[')
//	dst = wire.AppendAddr(wire.AppendSep(dst), 0x76) // ["0x76"
//	dst = wire.AppendAddr(wire.AppendSep(dst), 0x50) // ["0x76","0x50"
//	dst = append(dst, "]}"...)
package wire
