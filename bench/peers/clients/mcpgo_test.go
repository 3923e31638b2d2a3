package clients

import (
	"context"
	"sync/atomic"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo runs mcp-go's client, pinned to version; empty is its newest, by
// server/discover.
func mcpGo(version string) func(*testing.T, *server, *server) outcome {
	return func(t *testing.T, calm, jammed *server) outcome {
		return session(t, func(t *testing.T, s *server) goClient {
			c := &mcpGoClient{ctx: bounded(t)}
			var to transport.Interface = transport.NewStdio(s.argv[0], nil, s.argv[1:]...)
			if s.http != nil {
				var err error
				if to, err = transport.NewStreamableHTTP(s.argv[0]); err != nil {
					t.Fatal(err)
				}
			}
			c.Client = mcpgo.NewClient(to, mcpgo.WithProtocolVersion(version))
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.OnNotification(func(n mcp.JSONRPCNotification) {
				report := c.progress.Load()
				if report == nil || n.Method != "notifications/progress" {
					return
				}
				part, _ := n.Params.AdditionalFields["progress"].(float64)
				total, _ := n.Params.AdditionalFields["total"].(float64)
				(*report)(part / total)
			})
			var hello mcp.InitializeRequest
			hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1.2.1"}
			var err error
			if c.info, err = c.Initialize(c.ctx, hello); err != nil {
				t.Fatal(err)
			}
			return c
		}, calm, jammed)
	}
}

type mcpGoClient struct {
	*mcpgo.Client
	ctx      context.Context
	info     *mcp.InitializeResult
	progress atomic.Pointer[func(float64)]
}

func (c *mcpGoClient) hello(o *outcome) {
	o.Server, o.Version, o.Instructions = c.info.ServerInfo.Name, c.info.ProtocolVersion, c.info.Instructions
}

func (c *mcpGoClient) list(o *outcome) error {
	tools, err := c.ListTools(c.ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	for _, x := range tools.Tools {
		o.Tools = append(o.Tools, x.Name)
	}
	resources, err := c.ListResources(c.ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return err
	}
	for _, x := range resources.Resources {
		o.Resources = append(o.Resources, x.URI)
	}
	templates, err := c.ListResourceTemplates(c.ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil {
		return err
	}
	for _, x := range templates.ResourceTemplates {
		o.Templates = append(o.Templates, x.URITemplate.Raw())
	}
	prompts, err := c.ListPrompts(c.ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return err
	}
	for _, x := range prompts.Prompts {
		o.Prompts = append(o.Prompts, x.Name)
	}
	return nil
}

func (c *mcpGoClient) call(ctx context.Context, name string, args map[string]any, progress func(float64)) (r toolResult, err error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = name, args
	if progress != nil {
		c.progress.Store(&progress)
		req.Params.Meta = &mcp.Meta{ProgressToken: "progress"}
	}
	res, err := c.CallTool(ctx, req)
	if err != nil {
		return r, err
	}
	return r, convert(res, &r)
}

func (c *mcpGoClient) read(uri string) (string, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	r, err := c.ReadResource(c.ctx, req)
	if err != nil {
		return "", err
	}
	return r.Contents[0].(mcp.TextResourceContents).Text, nil
}

func (c *mcpGoClient) prompt(name string, args map[string]string) (string, error) {
	var req mcp.GetPromptRequest
	req.Params.Name, req.Params.Arguments = name, args
	r, err := c.GetPrompt(c.ctx, req)
	if err != nil {
		return "", err
	}
	return r.Messages[0].Content.(mcp.TextContent).Text, nil
}

func (c *mcpGoClient) complete(template, name, value string) ([]string, error) {
	var req mcp.CompleteRequest
	req.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: template}
	req.Params.Argument = mcp.CompleteArgument{Name: name, Value: value}
	r, err := c.Complete(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return r.Completion.Values, nil
}

func (c *mcpGoClient) close() error { return c.Close() }
