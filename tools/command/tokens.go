//go:build !board

package command

import (
	"errors"
	"flag"
	"io"
	"strconv"

	"boardhand/rpc/http/oauth"
	"boardhand/tools/cli"
)

// showTokens lists the clients that may work the board over HTTP, or ends some.
func showTokens(args []string, stdout, stderr io.Writer) int {
	var (
		h           httpFlags
		all, asJSON bool
		words       []string
	)
	set := flag.NewFlagSet("tokens", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.BoolVar(&all, "all", false, "")
	set.BoolVar(&asJSON, "json", false, "")
	set.StringVar(&h.tokens, "tokens", "", "")
	for rest := args; ; rest = set.Args()[1:] {
		if err := set.Parse(rest); err != nil {
			return tokensUsage(stderr, err.Error())
		}
		if set.NArg() == 0 {
			break
		}
		words = append(words, set.Arg(0))
	}
	revoke := len(words) > 0
	switch {
	case revoke && words[0] != "revoke":
		return tokensUsage(stderr, strconv.Quote(words[0])+" is not what can be done with tokens; it must be revoke")
	case revoke && all == (len(words) > 1):
		return tokensUsage(stderr, "revoke wants the ids that the list shows, or --all")
	case !revoke && all:
		return tokensUsage(stderr, "--all belongs to revoke")
	}
	file, err := h.tokensFile()
	if err != nil {
		return cli.Fail(stderr, cli.ExitUsage, err.Error())
	}
	store, err := oauth.OpenStore(file, nil)
	if err != nil {
		return cli.Fail(stderr, cli.ExitFailed, err.Error())
	}
	list, err := store.Grants()
	if err != nil {
		return cli.Fail(stderr, cli.ExitFailed, err.Error())
	}
	if !revoke {
		return cli.Tokens(tokensOf(list), file, asJSON, stdout, stderr)
	}
	wanted := map[string]bool{}
	for _, id := range words[1:] {
		wanted[id] = true
	}
	var ended []oauth.Grant
	for _, g := range list {
		if !all && !wanted[g.ID] {
			continue
		}
		delete(wanted, g.ID)
		switch err := store.Revoke(g.ID); {
		case errors.Is(err, oauth.ErrNoGrant): // it ended by itself meanwhile
		case err != nil:
			return cli.Fail(stderr, cli.ExitFailed, err.Error()+`; client "`+g.ID+`" has access as before`)
		default:
			ended = append(ended, g)
		}
	}
	status := cli.ExitOK
	if len(ended) > 0 || len(wanted) == 0 {
		status = cli.Ended(tokensOf(ended), stdout, stderr)
	}
	for _, id := range words[1:] {
		if wanted[id] {
			status = cli.Fail(stderr, cli.ExitFailed, "there is no client "+strconv.Quote(id)+" in "+file+`; "boardhand tokens" lists them`)
		}
	}
	return status
}

func tokensUsage(stderr io.Writer, what string) int {
	return cli.Fail(stderr, cli.ExitUsage, what+`; see "boardhand tokens -h"`)
}

func tokensOf(list []oauth.Grant) []cli.Token {
	shown := make([]cli.Token, len(list))
	for i := range list {
		g := &list[i]
		shown[i] = cli.Token{ID: g.ID, Client: g.Name, ClientID: g.Client, Returns: g.Returns, Scope: g.Scope.String(), Resource: g.Resource,
			Created: g.Created, Used: g.Used, Expires: g.Expires}
	}
	return shown
}
