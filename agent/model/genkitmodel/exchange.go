package genkitmodel

import (
	"context"
	"time"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
)

// grace is how long a plugin may take to end when it has been told to.
const grace = 250 * time.Millisecond

// exchange is one request and its answer.
type exchange struct {
	m      *Model
	c      *Call
	sink   model.Sink
	deltas deltas
}

// outcome is how a plugin's function ended.
type outcome struct {
	resp *ai.ModelResponse
	err  error
}

// run asks the plugin. The goroutine that it starts has ended when run returns, unless the plugin does not heed its
// context.
func (e *exchange) run(ctx, pluginCtx context.Context) (*model.Message, error) {
	pluginCtx, cancel := context.WithCancel(pluginCtx)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel) // the dialect may have made pluginCtx of another
	defer stop()

	chunks := make(chan *ai.ModelResponseChunk)
	done := make(chan outcome, 1)
	var callback ai.ModelStreamCallback
	if e.c.Stream {
		callback = func(_ context.Context, chunk *ai.ModelResponseChunk) error {
			select {
			case chunks <- chunk:
				return nil
			case <-pluginCtx.Done(): // also after run has returned
				return context.Cause(pluginCtx)
			}
		}
	}
	go func() {
		out := outcome{err: panicked(nil)} // stands if the plugin ends the goroutine
		defer func() { done <- out }()
		out = e.m.ask(pluginCtx, e.c.Genkit, callback)
	}()

	for {
		select {
		case chunk := <-chunks:
			if err := e.chunk(chunk); err != nil {
				cancel()
				leave(done)
				return nil, err
			}
		case out := <-done:
			if out.err != nil && ctx.Err() != nil {
				return nil, e.m.cancelled(ctx, nil)
			}
			return e.finish(out)
		case <-ctx.Done():
			cancel()
			leave(done)
			return nil, e.m.cancelled(ctx, nil)
		}
	}
}

// leave waits for a plugin that has been told to end.
func leave(done <-chan outcome) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// ask calls the plugin.
func (m *Model) ask(ctx context.Context, req *ai.ModelRequest, callback ai.ModelStreamCallback) (out outcome) {
	defer func() {
		if value := recover(); value != nil {
			out = outcome{err: panicked(value)}
		}
	}()
	resp, err := m.genkit.Generate(ctx, req, callback)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	return outcome{resp, err}
}

// chunk passes a chunk on to the dialect and to the sink.
func (e *exchange) chunk(chunk *ai.ModelResponseChunk) error {
	if chunk == nil {
		return nil
	}
	if e.c.OnChunk != nil {
		if err := e.c.OnChunk(chunk); err != nil {
			return e.m.apiError(err)
		}
	}
	if e.sink == nil || chunk.Aggregated { // it repeats what came before; the response has it anyway
		return nil
	}
	for _, p := range chunk.Content {
		var err error
		switch {
		case p == nil:
		case p.IsText() && p.Text == "" && e.m.dialect.EmptyTextEndsPart:
			e.deltas.end()
		case p.IsText():
			err = e.deltas.grow(e.sink, model.PartText, p.Text)
		case p.IsReasoning():
			err = e.deltas.grow(e.sink, model.PartThinking, p.Text)
		default:
			e.deltas.end()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish makes a message of the outcome and tells the sink what it has not seen of it.
func (e *exchange) finish(out outcome) (*model.Message, error) {
	var msg *model.Message
	err := out.err
	if err == nil {
		msg, err = e.m.message(out.resp)
	}
	if err != nil && e.c.Recover != nil {
		if again, better := e.c.Recover(err); again != nil {
			msg, err, out.resp = again, nil, nil
		} else if better != nil {
			err = better
		}
	}
	if err == nil && e.c.Finish != nil {
		err = e.c.Finish(out.resp, msg)
	}
	if err != nil {
		return nil, e.m.apiError(err)
	}
	e.m.complete(msg)
	if e.sink != nil {
		if err := e.deltas.rest(e.sink, msg); err != nil {
			return nil, err
		}
	}
	return msg, nil
}
