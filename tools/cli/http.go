//go:build !board

package cli

// httpCommands are the lines of the usage on the commands of the HTTP front.
const httpCommands = `  card     print the server card, which says where the board serves over HTTP
  tokens   list the clients that may work the board over HTTP, or end one
`

// httpExamples and httpFlags are what serve's help says of it, and connect's, which has
// examples and a flag of its own.
const (
	httpExamples = `  boardhand serve --http 127.0.0.1:8377
  boardhand serve --http 0.0.0.0:8377 --auth
`
	httpFlags = `  --http ADDR          serve over HTTP at this address and port, path /mcp
  --auth               clients need the approval of who reads the board's log,
                       which shows a pairing code; or the token that is in the
                       environment as BOARDHAND_TOKEN
  --insecure           serve others than this machine without that
  --url URL            how clients reach the board, where a proxy is before it
  --tls-cert FILE      speak HTTPS with this certificate
  --tls-key FILE       and its key, both in PEM
  --tokens FILE        where the clients' tokens are kept, as digests
`
	graceFlag = `  --grace TIME         without a request over HTTP, after which the board's
                       outputs go back; 60s
`
	connectExamples = `  boardhand connect /dev/ttyUSB0 --http 127.0.0.1:8377
`
)

// httpHelp is the text on one of these commands, or empty.
func httpHelp(command string) string {
	switch command {
	case "card":
		return `Print the server card: who the server is and where, for clients and catalogues
that look before they connect. "boardhand serve --http" serves the same at
/mcp/server-card.

Examples:
  boardhand card
  boardhand card --url https://board.example

Usage:
  boardhand card [flags]

Flags:
  --http ADDR          where the server is; 127.0.0.1:8377
  --url URL            how clients reach it, where that is not at ADDR
  --auth               clients need a token
` + boardFlags
	case "tokens":
		return `List the clients that were approved for "boardhand serve --http ... --auth", or
end one: its tokens hold no more, at a running server too, and it is asked for a
pairing code again when it comes back.

Examples:
  boardhand tokens
  boardhand tokens revoke k7qf2m
  boardhand tokens revoke --all

Usage:
  boardhand tokens [flags]
  boardhand tokens revoke ID ... [flags]

Run it as the user that serves. Exit status: 0 done, 1 there is no such client,
or the file cannot be read or written, 2 wrong usage.

Flags:
  --all                with revoke: end them all
  --json               print the list as JSON
  --tokens FILE        where the server keeps them; else tokens.json below
                       /var/lib/boardhand, or of a user ~/.local/state/boardhand
`
	}
	return ""
}
