package wire

// The error codes of JSON-RPC 2.0 (https://www.jsonrpc.org/specification,
// section 5.1), the same in every revision of MCP.
const (
	CodeParse          = -32700 // not JSON, or beyond the limits: no id can be given back
	CodeInvalidRequest = -32600 // JSON, but not a request
	CodeMethodNotFound = -32601 // no such method in this revision
	CodeInvalidParams  = -32602 // params do not fit the method; from MCP 2026-07-28 on also a resource that does not exist
	CodeInternal       = -32603 // a fault of the server itself
)

// The error codes that MCP 2026-07-28 adds (basic/index, "Error Codes"), which
// keeps -32020 to -32099 for itself.
const (
	CodeHeaderMismatch     = -32020 // HTTP: a header and the body disagree, or the header is missing
	CodeMissingCapability  = -32021 // the client did not declare what the request needs; data.requiredCapabilities
	CodeUnsupportedVersion = -32022 // data.supported, data.requested
)

// CodeResourceNotFound belongs to MCP 2025-11-25 and earlier (server/resources,
// "Error Handling"); later revisions use CodeInvalidParams.
const CodeResourceNotFound = -32002

// CodeToolFailed belongs to the Content-Length MCP 1.0, which gives its own
// errors the range -32000 to -32099 ("Error Handling") and names none; other
// revisions report a failed tool in the result, with isError.
const CodeToolFailed = -32000
