package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK runs the official Go SDK's client, which proposes version; empty is its
// newest, by server/discover.
func goSDK(version string) func(*testing.T, *server, *server) outcome {
	return func(t *testing.T, calm, jammed *server) outcome {
		return session(t, func(t *testing.T, s *server) goClient {
			c := &goSDKClient{ctx: bounded(t)}
			client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "v1.8.0"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					if report := c.progress.Load(); report != nil {
						(*report)(r.Params.Progress / r.Params.Total)
					}
				},
			})
			cmd := exec.Command(s.argv[0], s.argv[1:]...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			var transport mcp.Transport = &mcp.CommandTransport{Command: cmd}
			if s.http != nil {
				transport = &mcp.StreamableClientTransport{Endpoint: s.argv[0]}
			}
			var err error
			c.ClientSession, err = client.Connect(c.ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			return c
		}, calm, jammed)
	}
}

type goSDKClient struct {
	*mcp.ClientSession
	ctx      context.Context
	progress atomic.Pointer[func(float64)]
}

func (c *goSDKClient) hello(o *outcome) {
	r := c.InitializeResult()
	o.Server, o.Version, o.Instructions = r.ServerInfo.Name, r.ProtocolVersion, r.Instructions
}

func (c *goSDKClient) list(o *outcome) error {
	for x, err := range c.Tools(c.ctx, nil) {
		if err != nil {
			return err
		}
		o.Tools = append(o.Tools, x.Name)
	}
	for x, err := range c.Resources(c.ctx, nil) {
		if err != nil {
			return err
		}
		o.Resources = append(o.Resources, x.URI)
	}
	for x, err := range c.ResourceTemplates(c.ctx, nil) {
		if err != nil {
			return err
		}
		o.Templates = append(o.Templates, x.URITemplate)
	}
	for x, err := range c.Prompts(c.ctx, nil) {
		if err != nil {
			return err
		}
		o.Prompts = append(o.Prompts, x.Name)
	}
	return nil
}

func (c *goSDKClient) call(ctx context.Context, name string, args map[string]any, progress func(float64)) (r toolResult, err error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	if progress != nil {
		c.progress.Store(&progress)
		params.SetProgressToken("progress")
	}
	res, err := c.CallTool(ctx, params)
	if err != nil {
		return r, err
	}
	return r, convert(res, &r)
}

func (c *goSDKClient) read(uri string) (string, error) {
	r, err := c.ReadResource(c.ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return r.Contents[0].Text, nil
}

func (c *goSDKClient) prompt(name string, args map[string]string) (string, error) {
	r, err := c.GetPrompt(c.ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	return r.Messages[0].Content.(*mcp.TextContent).Text, nil
}

func (c *goSDKClient) complete(template, name, value string) ([]string, error) {
	r, err := c.Complete(c.ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: template},
		Argument: mcp.CompleteParamsArgument{Name: name, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return r.Completion.Values, nil
}

func (c *goSDKClient) close() error { return c.Close() }

// convert reads what an SDK made of a result as the JSON that it stands for.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
