// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/toolset"
)

// ExportConfig describes a server and how it runs tools.
type ExportConfig[D any] struct {
	// Name and Version tell clients who the server is. Name is required.
	Name, Version string
	// Instructions tells the client's model how to use the server. The toolset's instructions are
	// appended.
	Instructions string
	// Deps makes the dependencies of a call. Nil uses the zero value.
	Deps func(ctx context.Context) (D, error)
	// Approve decides about calls that need approval. Nil denies them. A decision to defer denies
	// too.
	Approve func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error)
	// Timeout limits calls of tools that have no timeout. 0 means no limit.
	Timeout time.Duration
	// Logger receives unexpected errors. Nil means slog.Default.
	Logger *slog.Logger
}

func (c *ExportConfig[D]) check() error {
	if c.Name == "" {
		return errors.New("mcptoolset: export: Name is empty")
	}
	if c.Timeout < 0 {
		return errors.New("mcptoolset: export: Timeout must not be negative")
	}
	return nil
}

func (c *ExportConfig[D]) server(instructions string) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: c.Name, Version: cmp.Or(c.Version, "unknown")}, &mcp.ServerOptions{Instructions: instructions, Logger: c.logger()})
}

func (c *ExportConfig[D]) logger() *slog.Logger { return cmp.Or(c.Logger, slog.Default()) }

func (c *ExportConfig[D]) deps(ctx context.Context) (d D, err error) {
	if c.Deps == nil {
		return d, nil
	}
	defer recovered(&err)
	return c.Deps(ctx)
}

// Export returns a server that offers the tools of a toolset. It opens the toolset once to list
// them.
func Export[D any](ctx context.Context, set toolset.Toolset[D], config ExportConfig[D]) (*mcp.Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if set == nil {
		return nil, errors.New("mcptoolset: export: the toolset is nil")
	}
	s := &exported[D]{set: set, config: config}
	d, err := config.deps(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: export: dependencies: %w", err)
	}
	var served *mcp.Server
	err = s.within(ctx, s.context(d, ""), func(_ *toolset.RunContext[D], l toolset.Listing[D]) error {
		instructions := config.Instructions
		if instructions != "" && l.Instructions != "" {
			instructions += "\n\n"
		}
		served = config.server(instructions + l.Instructions)
		for _, t := range l.Tools {
			if t.External {
				continue
			}
			if err := t.Err(); err != nil {
				return err
			}
			served.AddTool(definition(t), s.handle(t.Def.Name))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: export: %w", err)
	}
	return served, nil
}

// definition describes a tool to clients.
func definition[D any](t *toolset.Tool[D]) *mcp.Tool {
	def := &mcp.Tool{Name: t.Def.Name, Title: t.Title, Description: t.Def.Description, InputSchema: t.Def.Schema}
	no := false
	switch t.Kind {
	case toolset.KindRead, toolset.KindSearch, toolset.KindThink:
		def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no}
	case toolset.KindFetch:
		def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no}
	}
	return def
}

// server runs tools for clients.
type exported[D any] struct {
	set    toolset.Toolset[D]
	config ExportConfig[D]
}

// within opens the toolset for a run.
func (s *exported[D]) within(ctx context.Context, run *toolset.RunContext[D], do func(*toolset.RunContext[D], toolset.Listing[D]) error) (err error) {
	defer recovered(&err)
	instance, err := s.set.Open(ctx, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close(context.WithoutCancel(ctx))) }()
	l, err := instance.Tools(ctx, run)
	if err != nil {
		return err
	}
	return do(run, l)
}
