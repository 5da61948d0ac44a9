package loop

import (
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// start brings history and prompt together.
func (r *run) start() error {
	r.info.RunID, r.info.ConversationID = r.cfg.RunID, r.cfg.ConversationID
	if r.info.RunID == "" {
		r.info.RunID = r.eng.NewID()
	}
	history := r.cfg.History
	for i := len(history) - 1; i >= 0 && r.info.ConversationID == ""; i-- {
		r.info.ConversationID = history[i].ConversationID
	}
	if r.info.ConversationID == "" {
		r.info.ConversationID = r.eng.NewID()
	}
	r.info.Messages = slices.Clip(history)
	if r.cfg.Prompt == nil {
		r.info.Messages = slices.Clip(Repair(history, false))
		r.budgets = budgetsOf(history)
		return nil
	}
	if last := r.last(); last != nil && last.HasToolCalls() && !last.Interrupted {
		return &Error{Stage: StagePrepare, Err: ErrUnprocessedCalls}
	}
	r.info.Messages = slices.Clip(Repair(history, true))
	r.append(&model.Message{Kind: model.KindRequest, Parts: r.cfg.Prompt})
	return nil
}
