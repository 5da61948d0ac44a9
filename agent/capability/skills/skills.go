// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// DefaultMaxCatalogue is the default of [Options.MaxCatalogue].
const DefaultMaxCatalogue = 16 << 10

// Options changes [New]. The zero value will do.
type Options struct {
	// MaxCatalogue bounds the list of skills in the instructions, in bytes. If it would be longer,
	// descriptions are shortened first, and then skills at the end are left out and counted. 0
	// means [DefaultMaxCatalogue].
	MaxCatalogue int
	// Problem is called for each skill that is left out or breaks a rule, at the start of each run,
	// one call at a time. It must be quick. If it is nil, each problem is logged once with
	// [slog.Default].
	Problem func(ctx context.Context, p Problem)
}

// Problem says why a skill was left out, or what is wrong with one that can be used nevertheless.
type Problem struct {
	// Skill is the name of the skill's folder, Where its location.
	Skill, Where string
	// Err is the problem.
	Err error
	// Used reports that the skill is used nevertheless.
	Used bool
}

func (p *Problem) String() string {
	return fmt.Sprintf("%s (%s): %s", clean.Short(p.Skill, 100), clean.Short(p.Where, 300), clean.Short(p.Err.Error(), 500))
}

// New returns a capability with the skills of the sources. Earlier sources come first if two have a
// skill of one name.
//
// agent.New reports invalid options, that there are no sources, and invalid skills of [Code].
func New[D any](o Options, sources ...Source[D]) agent.Capability[D] {
	c := &catalogue[D]{options: o, sources: slices.Clone(sources)}
	if o.MaxCatalogue == 0 {
		c.options.MaxCatalogue = DefaultMaxCatalogue
	}
	if o.MaxCatalogue < 0 {
		c.err = fmt.Errorf("skills: Options.MaxCatalogue is %d; it must not be negative", o.MaxCatalogue)
	}
	if len(sources) == 0 {
		err := errors.New("skills: New has no sources: pass Workspace, FS or Code")
		c.err = errors.Join(c.err, err)
	}
	for _, s := range sources {
		c.err = errors.Join(c.err, s.err)
	}
	c.load = []*toolset.Tool[D]{toolset.Func(ToolLoadSkill, loadDescription, c.loadSkill, toolset.OfKind(toolset.KindRead, "Load skill"))}
	c.both = append(slices.Clone(c.load), toolset.Func(ToolReadSkillFile, readDescription, c.readFile, toolset.OfKind(toolset.KindRead, "Read file of a skill")))
	return agent.Capability[D]{
		Name:     "skills",
		Toolsets: []toolset.Toolset[D]{c},
		Commands: []agent.Command[D]{{Name: "skill", Description: "Do a task with a skill, or list the skills.", Hint: "name and task", Run: c.command}},
	}
}

// catalogue is a toolset that offers skills.
type catalogue[D any] struct {
	options    Options
	sources    []Source[D]
	err        error
	load, both []*toolset.Tool[D]
	// renamed reports that a skill has not the name of its folder. logged has the problems that
	// were logged.
	renamed atomic.Bool
	logged  sync.Map
}

func (c *catalogue[D]) Name() string { return "skills" }

// Check implements [toolset.Checker].
func (c *catalogue[D]) Check() error { return c.err }

// opened is the catalogue in one run.
type opened[D any] struct{ listing toolset.Listing[D] }

func (o *opened[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return o.listing, nil
}

func (o *opened[D]) Close(context.Context) error { return nil }

func (c *catalogue[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if c.err != nil {
		return nil, c.err
	}
	found, wrong, err := c.list(ctx, run.Deps)
	if err != nil {
		return nil, err
	}
	for _, p := range wrong {
		c.report(ctx, p)
	}
	o := &opened[D]{}
	if len(found) == 0 {
		return o, nil
	}
	o.listing = toolset.Listing[D]{Tools: c.load, Instructions: c.text(found)}
	if slices.ContainsFunc(found, func(e entry) bool { return e.folder.dir == "" }) {
		o.listing.Tools = c.both
	}
	return o, nil
}

func (c *catalogue[D]) report(ctx context.Context, p Problem) {
	if c.options.Problem != nil {
		c.options.Problem(ctx, p)
		return
	}
	if _, known := c.logged.LoadOrStore(p.String(), true); known {
		return
	}
	what := "skills: skill left out"
	if p.Used {
		what = "skills: skill breaks a rule"
	}
	slog.WarnContext(ctx, what, "problem", p.String())
}

// entry is a skill of the catalogue.
type entry struct {
	Skill
	folder *folder
}

// loaded is a skill that can be used, with what is wrong with it.
type loaded struct {
	entry
	warning error
}

// add adds a skill to those that were found, unless there is one of its name, and what is wrong to
// the problems.
func (l *loaded) add(found []entry, wrong []Problem) ([]entry, []Problem) {
	p := Problem{Skill: l.folder.name, Where: l.folder.where, Err: l.warning, Used: true}
	if slices.ContainsFunc(found, func(e entry) bool { return e.Name == l.Name }) {
		p.Err, p.Used = fmt.Errorf("another skill is called %q, in this source or an earlier one", l.Name), false
	} else {
		found = append(found, l.entry)
	}
	if p.Err != nil {
		wrong = append(wrong, p)
	}
	return found, wrong
}

// list returns the skills, sorted by name, and what is wrong with them and the others.
func (c *catalogue[D]) list(ctx context.Context, deps D) (found []entry, wrong []Problem, err error) {
	for _, s := range c.sources {
		if s.list == nil {
			continue
		}
		folders, err := s.list(ctx, deps)
		if err != nil {
			return nil, nil, fmt.Errorf("skills: %s: %w", s.name, err)
		}
		var renamed []loaded
		for _, f := range folders {
			l := loaded{entry: entry{folder: f}}
			l.Skill, l.warning, err = f.load(ctx)
			switch {
			case err != nil && fatal(ctx, err):
				return nil, nil, fmt.Errorf("skills: %s: %w", s.name, err)
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrNotDirectory): // something else
			case err != nil:
				wrong = append(wrong, Problem{Skill: f.name, Where: f.where, Err: err})
			case l.Name != f.name:
				renamed = append(renamed, l)
				c.renamed.Store(true)
			default:
				found, wrong = l.add(found, wrong)
			}
		}
		for _, l := range renamed { // a folder of the name comes first
			found, wrong = l.add(found, wrong)
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return found, wrong, nil
}

const catalogueHeader = "These skills are available: instructions for particular tasks. If a task fits the description of a skill, call " + ToolLoadSkill + " with its name before you begin, and follow the instructions."

// text returns the list of skills.
func (c *catalogue[D]) text(found []entry) string {
	var b strings.Builder
	for _, each := range []int{4 * MaxDescription, 512, 256, 128, 64} {
		b.Reset()
		b.WriteString(catalogueHeader + "\n")
		for i, e := range found {
			line := "\n- " + e.Name + ": " + clean.Short(e.Description, each)
			if b.Len()+len(line) <= c.options.MaxCatalogue {
				b.WriteString(line)
				continue
			}
			if each == 64 {
				fmt.Fprintf(&b, "\n[%d more are not shown.]", len(found)-i)
				return b.String()
			}
			b.Reset()
			break
		}
		if b.Len() > 0 {
			break
		}
	}
	return b.String()
}

// find returns a skill by its name. The error is for the model.
func (c *catalogue[D]) find(ctx context.Context, deps D, name string) (entry, error) {
	if checkName(name) == nil && !c.renamed.Load() {
		for _, s := range c.sources {
			if s.find == nil {
				continue
			}
			f, err := s.find(ctx, deps, name)
			if err != nil {
				return entry{}, fmt.Errorf("skills: %s: %w", s.name, err)
			}
			if f == nil {
				continue
			}
			skill, _, err := f.load(ctx)
			switch {
			case err == nil && skill.Name == name:
				return entry{skill, f}, nil
			case err == nil:
			case fatal(ctx, err):
				return entry{}, fmt.Errorf("skills: %s: %w", s.name, err)
			}
		}
	}
	found, wrong, err := c.list(ctx, deps)
	if err != nil {
		return entry{}, err
	}
	if i := slices.IndexFunc(found, func(e entry) bool { return e.Name == name }); i >= 0 {
		return found[i], nil
	}
	if i := slices.IndexFunc(wrong, func(p Problem) bool { return p.Skill == name && !p.Used }); i >= 0 {
		return entry{}, toolset.Failed("The skill %s cannot be used: %s", name, clean.Short(wrong[i].Err.Error(), 500))
	}
	names := make([]string, min(len(found), 50))
	for i := range names {
		names[i] = found[i].Name
	}
	return entry{}, toolset.Retry("unknown skill %q. Skills: %s", clean.Short(name, 100), strings.Join(names, ", "))
}
