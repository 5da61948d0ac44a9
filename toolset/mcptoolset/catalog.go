// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// catalog holds a server's tools, resources and prompts, as last listed. It does not change.
type catalog struct {
	tools    []*Definition
	byName   map[string]*Definition // by the server's name
	problems []Problem
	// instructions is the server's own description.
	instructions string
	// resources and prompts report whether the server has any.
	resources, prompts bool
	// until is when the server wants the list to be renewed, if it does.
	until time.Time
}

// Definition is a tool as a server defines it. All of it is the server's claim. It is shared and
// must not be changed.
type Definition struct {
	// Server is the server's name, and Name the tool's name on the server. Name may hold any
	// characters.
	Server, Name string
	// Title and Description are what the server says about the tool. Description is limited
	// ([Limits.Description]).
	Title, Description string
	// Schema is the JSON schema of the arguments. Output is the schema of structured results, or
	// nil.
	Schema, Output json.RawMessage
	// ReadOnly, Destructive, Idempotent and OpenWorld are the server's hints. They are shown to
	// people and decide nothing.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Digest identifies the definition. It changes with everything above.
	Digest string

	// offered is the tool's name for models.
	offered string
	// check checks structured results. It is nil without a schema that can be checked.
	check *outputCheck
}

// maxPages bounds the requests for one list.
const maxPages = 200

// list lists the server's tools.
func (l *link) list(ctx context.Context) (*catalog, error) {
	// What changes from here on makes the list stale again.
	l.stale.Store(false)
	init := l.session.InitializeResult()
	cat := &catalog{byName: map[string]*Definition{}, instructions: head(
		init.Instructions, l.server.config.Limits.Description,
	)}
	if init.Capabilities == nil {
		return cat, nil
	}
	cat.resources, cat.prompts = init.Capabilities.Resources != nil, init.Capabilities.Prompts != nil
	if init.Capabilities.Tools == nil {
		return cat, nil
	}
	limits := &l.server.config.Limits
	var cursor string
	left, seen := 0, 0
	for range maxPages {
		res, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if ttl := res.GetTTLMs(); ttl > 0 {
			until := time.Now().Add(time.Duration(ttl) * time.Millisecond)
			if cat.until.IsZero() || until.Before(cat.until) {
				cat.until = until
			}
		}
		for _, t := range res.Tools {
			if seen++; seen > limits.Tools {
				left++
				continue
			}
			cat.add(l.server.config.Name, t, limits)
		}
		if cursor = res.NextCursor; cursor == "" || left > 0 {
			break
		}
	}
	if left > 0 || cursor != "" {
		cat.problem("", fmt.Errorf("the server has too many tools: only the first %d are looked at", limits.Tools))
	}
	cat.name(l.server.prefix())
	return cat, nil
}

// add adds a tool if it can be offered.
func (c *catalog) add(server string, t *mcp.Tool, limits *Limits) {
	d := &Definition{Server: server, Name: t.Name, Title: t.Title, Description: shortened(
		t.Description, limits.Description,
	)}
	if t.Annotations != nil {
		a := t.Annotations
		d.ReadOnly, d.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		d.Destructive, d.OpenWorld = a.DestructiveHint == nil || *a.DestructiveHint, a.OpenWorldHint == nil || *a.OpenWorldHint
		if d.Title == "" {
			d.Title = a.Title
		}
	} else {
		d.Destructive, d.OpenWorld = true, true
	}
	var err error
	if t.Name == "" {
		err = errors.New("it has no name")
	}
	if _, twice := c.byName[t.Name]; twice && err == nil {
		err = errors.New("the server lists it twice: the first one is used")
	}
	if err == nil {
		d.Schema, err = objectSchema(verbatimSchema(t, "inputSchema", t.InputSchema), limits)
	}
	if err == nil && t.OutputSchema != nil {
		// A bad output schema does no harm: results are shown as they are.
		if d.Output, _ = boundedSchema(verbatimSchema(t, "outputSchema", t.OutputSchema), limits); d.Output != nil {
			d.check = newOutputCheck(d.Output)
		}
	}
	if err != nil {
		c.problem(t.Name, err)
		return
	}
	d.Digest = digest(t, d)
	c.tools = append(c.tools, d)
	c.byName[d.Name] = d
}

func (c *catalog) problem(tool string, err error) {
	const most = 100
	if len(c.problems) < most {
		c.problems = append(c.problems, Problem{Tool: visible(tool, 200), Err: err})
	}
}

// digest identifies a definition by everything that the model, a person or the server may depend
// on.
func digest(t *mcp.Tool, d *Definition) string {
	h := sha256.New()
	data, _ := json.Marshal([]any{ // which was decoded from JSON
		d.Server, t.Name, d.Title, t.Description, d.Schema, d.Output, d.ReadOnly, d.Destructive,
		d.Idempotent, d.OpenWorld,
	})
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// objectSchema returns the schema of a tool's arguments.
func objectSchema(schema any, limits *Limits) (json.RawMessage, error) {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is not a JSON object")
	}
	if typ, given := object["type"]; given && typ != "object" {
		return nil, errors.New("its schema does not describe an object")
	} else if !given {
		object = withType(object)
	}
	if p, given := object["properties"]; given {
		if _, ok := p.(map[string]any); !ok {
			return nil, errors.New("the properties of its schema are not a JSON object")
		}
	}
	return boundedSchema(object, limits)
}

// withType adds the type that servers leave out. Nothing but an object can be a tool's arguments.
func withType(object map[string]any) map[string]any {
	typed := maps.Clone(object)
	typed["type"] = "object"
	return typed
}

func boundedSchema(schema any, limits *Limits) (json.RawMessage, error) {
	if depth(schema, limits.SchemaDepth+1) > limits.SchemaDepth {
		return nil, fmt.Errorf("its schema is nested deeper than %d", limits.SchemaDepth)
	}
	data := plainJSON(schema)
	if data == nil {
		return nil, errors.New("its schema is not valid JSON")
	}
	if len(data) > limits.Schema {
		return nil, fmt.Errorf("its schema has %d bytes, more than %d", len(data), limits.Schema)
	}
	return data, nil
}

// depth returns the nesting of a decoded JSON value, up to a limit.
func depth(v any, limit int) int {
	if limit == 0 {
		return 0
	}
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e, limit-1))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e, limit-1))
		}
	default:
		return 0
	}
	return deepest + 1
}

// equal reports whether two catalogs offer the same.
func (c *catalog) equal(o *catalog) bool {
	if o == nil || len(c.tools) != len(o.tools) || c.instructions != o.instructions || c.resources != o.resources || c.prompts != o.prompts || len(c.problems) != len(o.problems) {
		return false
	}
	for i, t := range c.tools {
		if t.Digest != o.tools[i].Digest || t.offered != o.tools[i].offered {
			return false
		}
	}
	return true
}

// adopt makes a catalog the current one. An equal one is dropped: a reconnect changes nothing for
// models. The caller holds mu.
func (s *Server) adopt(cat *catalog) {
	if s.known != nil && cat.equal(s.known) {
		same := *s.known
		if !same.until.Equal(cat.until) {
			same.until = cat.until
			// The tools are the same, in the same memory.
			s.known = &same
		}
		return
	}
	s.known, s.yielded = cat, nil
}
