// Package wire is JSON as boardhand reads and writes it: a strict scanner that
// judges a message before anything else looks at it, append-style writers, and
// the error codes of JSON-RPC and MCP. It uses the standard library only.
//
// # Reading
//
// Scan says whether a message is exactly one JSON value within limits. What it
// let through, a faster and more forgiving parser may take apart.
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
