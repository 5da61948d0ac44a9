// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/toolset"
)

// Names of the tools for resources and prompts, after the server's prefix.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
	listPrompts   = "list_prompts"
	getPrompt     = "get_prompt"
)

// maxListed bounds the entries of a list that a model reads.
const maxListed = 200

// extra adds the tools for resources and prompts.
func (t *serverTools[D]) extra(cat *catalog, tools []*toolset.Tool[D]) []*toolset.Tool[D] {
	add := func(name, description string, tool func(string, string) *toolset.Tool[D]) {
		offered := safeName(t.server.prefix(), name)
		for _, other := range tools {
			if other.Def.Name == offered {
				offered = hashed(offered, "ponte/"+name)
				break
			}
		}
		tools = append(tools, tool(offered, description))
	}
	if t.options.Resources && cat.resources {
		add(listResources, fmt.Sprintf(
			"List the resources of the MCP server %q, with their URIs.", t.server.config.Name,
		), t.listing(t.server.resourceList))
		add(readResource, fmt.Sprintf("Read a resource of the MCP server %q.", t.server.config.Name), t.reading)
	}
	if t.options.Prompts && cat.prompts {
		add(listPrompts, fmt.Sprintf(
			"List the prompts of the MCP server %q, with their arguments.", t.server.config.Name,
		), t.listing(t.server.promptList))
		add(getPrompt, fmt.Sprintf("Get a prompt of the MCP server %q.", t.server.config.Name), t.prompting)
	}
	return tools
}

// own makes a tool under the same approvals as the server's own.
func own[D, In any](
	t *serverTools[D], name, description, title string,
	fn func(ctx context.Context, c caller, in In) (toolset.Result, error),
) *toolset.Tool[D] {
	d := &Definition{Server: t.server.config.Name, Name: title, Digest: "ponte", offered: name}
	tool := toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in In) (toolset.Result, error) {
		return fn(ctx, caller{call: &run.Call, host: run.Host, info: &run.RunInfo, title: title}, in)
	}, toolset.OfKind(toolset.KindOther, d.title()))
	tool.Timeout = t.server.config.CallTimeout
	guarded := *tool
	t.guard(&guarded, d)
	tool.Yield = guarded.Yield
	// The policy and the person see the arguments as the model wrote them.
	if check := guarded.Check; check != nil {
		tool.Check = func(ctx context.Context, run *toolset.RunContext[D], _ any) error {
			return check(ctx, run, object(run.Call.Args))
		}
	}
	tool.Approval = func(ctx context.Context, run *toolset.RunContext[D], _ any) (*toolset.Approval, error) {
		return guarded.Approval(ctx, run, object(run.Call.Args))
	}
	return tool
}

func object(args []byte) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

type nothing struct{}

func (t *serverTools[D]) listing(
	list func(context.Context, *link) (string, error),
) func(name, description string) *toolset.Tool[D] {
	return func(name, description string) *toolset.Tool[D] {
		return own(t, name, description, strings.TrimPrefix(
			name, t.server.prefix(),
		), func(ctx context.Context, c caller, _ nothing) (toolset.Result, error) {
			return t.server.request(ctx, c, func(ctx context.Context, l *link, _ mcp.Meta) (toolset.Result, error) {
				text, err := list(ctx, l)
				return toolset.Result{Text: shortened(text, t.server.config.Limits.Result)}, err
			})
		})
	}
}

type resourceArgs struct {
	URI string `json:"uri" validate:"required" jsonschema:"description=The URI of the resource"`
}

func (t *serverTools[D]) reading(name, description string) *toolset.Tool[D] {
	return own(t, name, description, readResource, func(ctx context.Context, c caller, in resourceArgs) (toolset.Result, error) {
		return t.server.request(ctx, c, func(ctx context.Context, l *link, meta mcp.Meta) (toolset.Result, error) {
			res, err := l.session.ReadResource(ctx, &mcp.ReadResourceParams{Meta: meta, URI: in.URI})
			if err != nil {
				return toolset.Result{}, err
			}
			w := contentWriter{
				limits: &t.server.config.Limits, info: c.info.Model,
				room: t.server.config.Limits.Media,
			}
			for _, r := range res.Contents {
				if r != nil {
					w.resource(r)
				}
			}
			return w.done(), nil
		})
	})
}

type promptArgs struct {
	Name      string            `json:"name" validate:"required" jsonschema:"description=The name of the prompt"`
	Arguments map[string]string `json:"arguments,omitempty" jsonschema:"description=The prompt's arguments by name"`
}

func (t *serverTools[D]) prompting(name, description string) *toolset.Tool[D] {
	return own(t, name, description, getPrompt, func(ctx context.Context, c caller, in promptArgs) (toolset.Result, error) {
		return t.server.request(ctx, c, func(ctx context.Context, l *link, meta mcp.Meta) (toolset.Result, error) {
			res, err := l.session.GetPrompt(
				ctx, &mcp.GetPromptParams{Meta: meta, Name: in.Name, Arguments: in.Arguments},
			)
			if err != nil {
				return toolset.Result{}, err
			}
			w := contentWriter{
				limits: &t.server.config.Limits, info: c.info.Model,
				room: t.server.config.Limits.Media,
			}
			for _, m := range res.Messages {
				if m != nil {
					w.line("[%s]", visible(string(m.Role), 20))
					w.add(m.Content)
				}
			}
			return w.done(), nil
		})
	})
}

// done returns what was collected.
func (w *contentWriter) done() toolset.Result {
	text := shortened(w.text.String(), w.limits.Result)
	if text == "" {
		text = "There is no content."
	}
	return toolset.Result{Text: text, Content: w.media}
}

// request makes a request of a run that is not a call of a tool.
func (s *Server) request(
	ctx context.Context, c caller,
	do func(context.Context, *link, mcp.Meta) (toolset.Result, error),
) (toolset.Result, error) {
	l, err := s.ready(ctx)
	if err != nil {
		return toolset.Result{}, s.unavailable(ctx, err)
	}
	f := l.depart(ctx, c)
	var meta mcp.Meta
	if f.host != nil {
		meta = mcp.Meta{"progressToken": f.token}
	}
	res, err := do(f.ctx, l, meta)
	f.arrive(err == nil || answered(err))
	if err != nil {
		return toolset.Result{}, s.failure(ctx, l, err)
	}
	return res, nil
}

// resourceList lists resources and templates for a model.
func (s *Server) resourceList(ctx context.Context, l *link) (string, error) {
	var b strings.Builder
	n := 0
	for r, err := range l.session.Resources(ctx, nil) {
		if err != nil {
			return "", err
		}
		if r == nil {
			continue
		}
		if n++; n > maxListed {
			break
		}
		fmt.Fprintf(&b, "- %s%s%s\n", head(r.URI, 2000), labelled(r.Name, r.MIMEType), after(
			head(r.Description, 300),
		))
	}
	m := 0
	for r, err := range l.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			break // many servers have none, and say so with an error
		}
		if r == nil {
			continue
		}
		if m++; m > maxListed {
			break
		}
		fmt.Fprintf(
			&b, "- template %s%s%s\n", head(r.URITemplate, 2000), labelled(r.Name, r.MIMEType),
			after(head(r.Description, 300)),
		)
	}
	if n > maxListed || m > maxListed {
		b.WriteString("[There are more.]\n")
	}
	if b.Len() == 0 {
		return "There are no resources.", nil
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// promptList lists prompts for a model.
func (s *Server) promptList(ctx context.Context, l *link) (string, error) {
	prompts, err := l.prompts(ctx)
	if err != nil {
		return "", err
	}
	if len(prompts) == 0 {
		return "There are no prompts.", nil
	}
	var b strings.Builder
	for _, p := range prompts {
		fmt.Fprintf(&b, "- %s%s\n", head(p.Name, 200), after(head(p.Description, 300)))
		for _, a := range p.Arguments {
			if a == nil {
				continue
			}
			required := ""
			if a.Required {
				required = " (required)"
			}
			fmt.Fprintf(&b, "  - argument %s%s%s\n", head(a.Name, 100), required, after(head(a.Description, 200)))
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// prompts lists the server's prompts.
func (l *link) prompts(ctx context.Context) ([]*mcp.Prompt, error) {
	var prompts []*mcp.Prompt
	for p, err := range l.session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		if len(prompts) == maxListed {
			break
		}
		prompts = append(prompts, p)
	}
	return prompts, nil
}
