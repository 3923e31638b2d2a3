//go:build board

package cli

// The program for a board has no HTTP front.

const (
	httpCommands    = ""
	httpExamples    = ""
	httpFlags       = ""
	graceFlag       = ""
	connectExamples = ""
)

func httpHelp(string) string { return "" }
