// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// DefaultWindow is the context window of models that do not say theirs, in tokens.
	DefaultWindow = 128_000
	// MinWindow is the least context window, in tokens.
	MinWindow = 4000
	// MinNative is from which size on providers compact conversations, in tokens.
	MinNative = 50_000
)

// Options configures [New]. Model is required.
type Options[D any] struct {
	// Model writes the summaries. A small one does.
	Model model.Model
	// Native leaves compaction to the provider if the model of a run can do it
	// ([model.Info.NativeCompaction]) and 85 % of the bound are at least [MinNative] tokens. See
	// "Native compaction" in the package documentation.
	Native bool
	// Window is the context window of the agent's model, in tokens. 0 means what the model of the
	// run says, or [DefaultWindow].
	Window int
	// Reserve is the room for instructions that grow, estimates that are wrong, and the response. 0
	// means an eighth of the window.
	Reserve int
	// KeepTurns, KeepSteps and Instructions have the meaning of the fields of [history.Summary].
	// KeepSteps is also the number of steps that keep their results.
	KeepTurns, KeepSteps int
	Instructions         string
	// KeepResults are the names of tools whose results are not cleared, such as a plan.
	KeepResults []string
	// Spill returns the workspace that long results are written to; its files must be those that
	// the model can read with read_file. It may be nil, and return nil: then results stay as they
	// are. Writing these files needs no approval.
	Spill func(deps D) workspace.Workspace
	// SpillBytes is the length from which on a result is spilled; 0 means 32 KiB, the minimum is 4
	// KiB. SpillDir is where; the default is ".agents/results".
	SpillBytes int
	SpillDir   string
	// Estimate is as in [history.Budget].
	Estimate func(*model.Message) int
}

// Shares of the bound, in percent.
const (
	clearAt     = 60
	warnAt      = 75
	summariseAt = 85
	cutTo       = 70
)

// New returns the capability. agent.New reports invalid options.
func New[D any](o Options[D]) agent.Capability[D] {
	c := &compactor[D]{options: o, size: history.Gauge(o.Estimate)}
	c.options.SpillBytes = cmp.Or(o.SpillBytes, 32<<10)
	c.options.SpillDir = cmp.Or(o.SpillDir, ".agents/results")
	c.options.KeepSteps = cmp.Or(o.KeepSteps, 5)
	hooks := agent.Hooks[D]{Request: c.request}
	if o.Spill != nil {
		hooks.Call = c.call
	}
	var invalid []toolset.Toolset[D]
	if err := c.check(); err != nil {
		invalid = append(invalid, &checked[D]{toolset.Of[D](), err})
	}
	return agent.Capability[D]{
		Name:     "compaction",
		Hooks:    []agent.Hooks[D]{hooks},
		History:  []agent.HistoryProcessor[D]{c.process},
		Toolsets: invalid,
		Commands: []agent.Command[D]{{Name: "compact", Description: "Summarise the conversation so far.", Hint: "what to keep", Run: c.command}},
	}
}

// compactor applies the options. It holds nothing but what follows from them.
type compactor[D any] struct {
	options Options[D]
	size    func([]*model.Message) int64
	// tiers are the processors for a bound.
	tiers sync.Map
}

func (c *compactor[D]) check() error {
	o := &c.options
	switch {
	case o.Model == nil:
		return errors.New("compaction: Options.Model is nil")
	case o.Window != 0 && o.Window < MinWindow:
		return fmt.Errorf("compaction: Options.Window is %d; it must be at least %d, or 0", o.Window, MinWindow)
	case o.Reserve < 0 || o.Reserve > cmp.Or(o.Window, MinWindow)/2:
		return fmt.Errorf("compaction: Options.Reserve is %d; it must be between 0 and half the window", o.Reserve)
	case o.KeepTurns < 0 || o.KeepSteps < 0:
		return fmt.Errorf("compaction: Options.KeepTurns is %d and KeepSteps %d; neither may be negative", o.KeepTurns, o.KeepSteps)
	case o.SpillBytes < 4<<10:
		return fmt.Errorf("compaction: Options.SpillBytes is %d; it must be at least 4096, or 0", o.SpillBytes)
	}
	return nil
}

// checked is an empty toolset through which agent.New learns of invalid options.
type checked[D any] struct {
	toolset.Toolset[D]
	err error
}

// Check implements [toolset.Checker].
func (c *checked[D]) Check() error { return c.err }

// bound returns how large a history may be.
func (c *compactor[D]) bound(run *toolset.RunContext[D]) int {
	window := c.options.Window
	if window == 0 && run != nil && run.Model != nil {
		window = run.Model.ContextWindow
	}
	return c.boundOf(window)
}

func (c *compactor[D]) boundOf(window int) int {
	window = max(cmp.Or(window, DefaultWindow), MinWindow)
	return window - cmp.Or(c.options.Reserve, window/8)
}

// summary returns the configuration of summaries.
func (c *compactor[D]) summary(bound int) history.Summary {
	return history.Summary{
		Model: c.options.Model, Threshold: bound * summariseAt / 100, KeepTurns: c.options.KeepTurns, KeepSteps: c.options.KeepSteps,
		Instructions: c.options.Instructions, Estimate: c.options.Estimate,
	}
}

// at returns the tiers for a bound.
func (c *compactor[D]) at(bound int) []history.Processor[D] {
	if known, ok := c.tiers.Load(bound); ok {
		return known.([]history.Processor[D])
	}
	s := c.summary(bound)
	s.Model = &announced{s.Model}
	s.OnError = func(ctx context.Context, err error) error {
		slog.WarnContext(ctx, "compaction: the conversation could not be summarised", "error", clean.Short(err.Error(), 500))
		tell(ctx, failed(err))
		return nil // the budget takes its place
	}
	tiers := []history.Processor[D]{
		history.ClearResults[D](history.Clear{
			Threshold: bound * clearAt / 100, KeepSteps: c.options.KeepSteps, Keep: c.options.KeepResults, Remember: true, Estimate: c.options.Estimate,
		}),
		history.Summarise[D](s),
		history.TokenBudget[D](history.Budget{Max: bound, Target: bound * cutTo / 100, Estimate: c.options.Estimate}),
	}
	c.tiers.Store(bound, tiers)
	return tiers
}

// process is the history processor.
func (c *compactor[D]) process(ctx context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
	if run != nil && c.nativeAt(run) > 0 {
		return messages, nil // the provider leaves out what its summary replaces
	}
	bound := c.bound(run)
	messages = c.measured(messages)
	now := c.size(messages)
	if now <= int64(bound*clearAt/100) {
		return messages, nil
	}
	watched, ctx := watch(ctx, run)
	before := messages
	for _, tier := range c.at(bound) {
		var err error
		if messages, err = tier(ctx, watched, messages); err != nil {
			return nil, err
		}
	}
	if len(before) == len(messages) && &before[0] == &messages[0] {
		c.warn(run, messages, now, bound)
	}
	return messages, nil
}

// request sends a request again that the provider refuses because it is too long.
func (c *compactor[D]) request(ctx context.Context, run *toolset.RunContext[D], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
	if at := c.nativeAt(run); at > 0 && run.Call.ID == "" {
		req = withNative(req, at)
	}
	resp, err := next(ctx, req)
	if !errors.Is(err, model.ErrContextLength) || run.Call.ID != "" {
		return resp, err
	}
	all := c.size(req.Messages)
	for _, share := range []int64{70, 45, 25} {
		limit := int(max(all*share/100, 1))
		cut, cutErr := history.TokenBudget[D](history.Budget{Max: limit, Target: max(limit*9/10, 1), Estimate: c.options.Estimate})(ctx, nil, req.Messages)
		if cutErr != nil || len(cut) == len(req.Messages) && &cut[0] == &req.Messages[0] {
			break
		}
		shorter := *req
		shorter.Messages = cut
		if resp, err = next(ctx, &shorter); err == nil {
			return c.corrected(run, resp, all), nil
		}
		if !errors.Is(err, model.ErrContextLength) {
			break
		}
	}
	return resp, err
}
