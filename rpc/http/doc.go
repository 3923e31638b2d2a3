// Package httpfront is MCP over HTTP: a front to the same dispatcher that a stream
// has. A request's body is one message for a Conn, and what the Conn writes is the
// response. No method, dialect or rule is written here a second time.
//
// # Four ways to speak, one endpoint
//
// What a POST is, its body and its headers say by themselves:
//
//   - MCP 2026-07-28 names itself in MCP-Protocol-Version and in params._meta. It
//     keeps no state, so each request has a Conn of its own, out of a pool. The headers
//     must say what the body says (error -32020). A response that nothing comes before
//     is JSON, any other a stream of events; to close it cancels the call.
//   - MCP 2025-03-26, 2025-06-18 and 2025-11-25 begin with initialize, whose response
//     names a session. A session has one Conn for all its requests. What belongs to a
//     request goes to its response; a GET is a stream on which nothing comes but
//     comments, as this server begins nothing by itself; DELETE ends the session.
//   - The Content-Length MCP 1.0 has mcp/ methods, and initialize with
//     clientCapabilities. A request and its response are one session; a body of
//     several lines is answered by as many, each as soon as it is ready.
//   - ping, initialize, tools/list and tools/call of a client that does not accept
//     text/event-stream are answered without a session.
//
// # What is written when
//
// A Conn is written to by the worker of a bus too, which must not wait for a slow
// reader. So what a Conn writes is kept, within Config.Pending, and the goroutine of the
// request sends it. Whoever reads too slowly loses the response, and nobody else does.
//
// # Strangers
//
// A request is looked at in this order: its Host and Origin (another site's page could
// have made a browser send it), who sends it (package oauth), and then what it is.
// Every size, count and wait has a limit in Config.
package httpfront
