// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/frontmatter"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Definition describes a sub-agent in a file. The file begins with front matter:
//
//	---
//	name: reviewer
//	description: Reviews changes for mistakes.
//	model: anthropic:claude-haiku-4-5
//	tools: read_file, search_files
//	---
//	You review changes. …
//
// A definition permits nothing: the program decides which model and which of its tools the agent
// gets.
type Definition struct {
	// Name and Description describe the agent.
	Name, Description string
	// Model names the model that the file asks for, Tools the tools. Both may be empty; the program
	// decides then.
	Model string
	Tools []string
	// Instructions are the agent's, the text after the front matter.
	Instructions string
	// Path is the file.
	Path string
}

// maxDefinition bounds a file, maxDefinitions the files of a directory.
const (
	maxDefinition  = 128 << 10
	maxDefinitions = 200
)

// Parse reads a definition. The error describes the mistake.
func Parse(text string) (Definition, error) {
	var fields struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Model       string `yaml:"model"`
		Tools       any    `yaml:"tools"`
	}
	body, err := frontmatter.Parse(text, &fields)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{Name: fields.Name, Description: strings.TrimSpace(fields.Description), Model: fields.Model, Instructions: body}
	switch tools := fields.Tools.(type) {
	case nil:
	case string:
		for name := range strings.SplitSeq(tools, ",") {
			if name = strings.TrimSpace(name); name != "" {
				d.Tools = append(d.Tools, name)
			}
		}
	case []any:
		for _, t := range tools {
			name, ok := t.(string)
			if !ok {
				return d, errors.New("tools must be names")
			}
			d.Tools = append(d.Tools, name)
		}
	default:
		return d, errors.New("tools must be a list of names")
	}
	switch {
	case checkName(d.Name) != nil:
		return d, checkName(d.Name)
	case d.Description == "":
		return d, errors.New("the description is missing")
	case utf8.RuneCountInString(d.Description) > 1024:
		return d, errors.New("the description has more than 1024 characters")
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return d, errors.New("it is not UTF-8 text")
	case strings.TrimSpace(d.Instructions) == "":
		return d, errors.New("there are no instructions after the front matter")
	}
	return d, nil
}

// Problem says why a file was left out.
type Problem struct {
	// Path is the file, Err what is wrong with it.
	Path string
	Err  error
}

// Load reads the definitions in the files DIR/*.md of a workspace, such as ".agents/agents", sorted
// by name. Files that are not valid are left out and reported, as is the second of a name. A
// directory that does not exist has none.
func Load(ctx context.Context, w workspace.Workspace, dir string) ([]Definition, []Problem, error) {
	var all []Definition
	var wrong []Problem
	if w == nil || !w.Features().Read && !w.Features().Saved || !w.Features().Walk {
		return nil, nil, nil
	}
	var names []string
	for info, err := range w.Walk(ctx, dir, workspace.WalkOptions{Depth: 1}) {
		switch {
		case errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil:
			return nil, nil, nil
		case err != nil:
			return nil, nil, fmt.Errorf("subagents: list %q: %w", dir, err)
		}
		name := info.Path[strings.LastIndexAny(info.Path, `/\`)+1:]
		if strings.HasSuffix(name, ".md") && !info.IsDir() && len(names) < maxDefinitions {
			names = append(names, name)
		}
	}
	for _, name := range names {
		file := path.Join(dir, name)
		f, err := w.Read(ctx, file, workspace.Range{Limit: maxDefinition, Saved: !w.Features().Read})
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, workspace.ErrLost)):
			return nil, nil, fmt.Errorf("subagents: %w", err)
		case err == nil && f.More:
			err = fmt.Errorf("it is larger than %d bytes", maxDefinition)
		}
		var d Definition
		if err == nil {
			d, err = Parse(string(f.Data))
		}
		if err == nil && slices.ContainsFunc(all, func(o Definition) bool { return o.Name == d.Name }) {
			err = fmt.Errorf("another file defines the agent %q", d.Name)
		}
		if err != nil {
			wrong = append(wrong, Problem{file, err})
			continue
		}
		d.Path = file
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return all, wrong, nil
}
