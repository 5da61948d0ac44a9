package loop

import "github.com/ponte-go/ponte/toolset"

// Limits bound what a run may use; 0 is no limit.
type Limits struct {
	Requests, ToolCalls                    int
	InputTokens, OutputTokens, TotalTokens int64
}

// countRequest is called before each request.
func (r *run) countRequest() error {
	limit := r.cfg.Limits.Requests
	used, ok := r.cfg.Meter.Request(limit)
	r.info.Usage = used
	if !ok {
		return &LimitError{"requests", int64(used.Requests), int64(limit)}
	}
	return nil
}

// calls is checked before any of n calls is run.
func (l *Limits) calls(u *toolset.Usage, n int) error {
	if l.ToolCalls > 0 && u.ToolCalls+n > l.ToolCalls {
		return &LimitError{"tool calls", int64(u.ToolCalls + n), int64(l.ToolCalls)}
	}
	return nil
}

// tokens is checked after each response and on every usage update in between.
func (l *Limits) tokens(u *toolset.Usage) error {
	switch {
	case l.InputTokens > 0 && u.InputTokens > l.InputTokens:
		return &LimitError{"input tokens", u.InputTokens, l.InputTokens}
	case l.OutputTokens > 0 && u.OutputTokens > l.OutputTokens:
		return &LimitError{"output tokens", u.OutputTokens, l.OutputTokens}
	case l.TotalTokens > 0 && u.TotalTokens() > l.TotalTokens:
		return &LimitError{"total tokens", u.TotalTokens(), l.TotalTokens}
	}
	return nil
}
