// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// mostTokens is the most that one random response uses, in tokens.
const mostTokens = 100

// model returns a model that streams random responses. Now and then it cancels the run, fails or panics in mid-stream. What
// it does depends on the conversation and on how often it was asked the same, so that runs in parallel can be repeated.
func (w *nestedWorld) model(level int, delegates []string, handOver bool) model.Model {
	return model.Func(model.Info{Provider: "random", Name: fmt.Sprint("level-", level)}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		run := ctx.Value(nestedKey{}).(*nestedRun)
		w.check(wellFormed(req.Messages))
		w.requested(run)
		var reported model.Usage
		defer func() { w.used(run, toolset.Usage{Usage: reported}) }()
		rnd := w.random(level, req.Messages)
		resp := randomResponse(rnd, len(req.Messages), delegates, handOver)
		if err := w.stream(ctx, run, rnd, resp, sink, &reported); err != nil {
			return nil, err
		}
		reported = resp.Usage
		w.mu.Lock()
		run.newBatch = true
		w.mu.Unlock()
		return resp, nil
	})
}

// random returns the source of what a model answers to a conversation.
func (w *nestedWorld) random(level int, messages []*model.Message) *rand.Rand {
	prompt := ""
	for _, m := range messages {
		for i := range m.Parts {
			if m.Parts[i].Kind == model.PartUser {
				prompt = m.Parts[i].Text
			}
		}
	}
	key := fmt.Sprint(level, prompt, len(messages))
	w.mu.Lock()
	w.attempts[key]++
	n := w.attempts[key]
	w.mu.Unlock()
	hash := fnv.New64()
	fmt.Fprint(hash, key, n)
	return rand.New(rand.NewPCG(w.seed, binary.BigEndian.Uint64(hash.Sum(nil))))
}

// randomResponse is a random response: text, thinking and calls, of tools and of other agents.
func randomResponse(rnd *rand.Rand, messages int, delegates []string, handOver bool) *model.Message {
	resp := model.Response()
	for n := range 1 + rnd.IntN(3) {
		switch rnd.IntN(5) {
		case 0, 1:
			resp.Parts = append(resp.Parts, model.Text(randomText(rnd)))
		case 2:
			p := model.Part{Kind: model.PartThinking, Text: randomText(rnd)}
			if rnd.IntN(2) == 0 {
				p.Provider, p.Signature = "random", []byte{byte(n)}
			}
			resp.Parts = append(resp.Parts, p)
		case 3:
			resp.Parts = append(resp.Parts, model.Part{Kind: model.PartOpaque, Provider: "random", Data: []byte{byte(n)}})
		}
	}
	ids := []string{"", "x", "y"}
	prompt := func() string { return fmt.Sprintf(`{"prompt":"task %d"}`, rnd.Uint32()) }
	for range rnd.IntN(4) {
		switch {
		case messages > 12 || rnd.IntN(5) == 0: // time to end
		case len(delegates) > 0 && rnd.IntN(2) == 0:
			resp.Parts = append(resp.Parts, model.ToolCall(ids[rnd.IntN(3)], delegates[rnd.IntN(len(delegates))], prompt()))
		case handOver && rnd.IntN(8) == 0:
			resp.Parts = append(resp.Parts, model.ToolCall(ids[rnd.IntN(3)], "hand_over", prompt()))
		default:
			resp.Parts = append(resp.Parts, randomCall(rnd))
		}
	}
	if rnd.IntN(4) == 0 {
		rnd.Shuffle(len(resp.Parts), func(i, j int) { resp.Parts[i], resp.Parts[j] = resp.Parts[j], resp.Parts[i] })
	}
	if len(resp.Parts) == 0 || rnd.IntN(30) == 0 {
		resp.Parts = append(resp.Parts, model.Text(randomText(rnd)))
	}
	if rnd.IntN(25) == 0 {
		resp.Finish = model.FinishLength
	}
	return resp
}

func randomText(rnd *rand.Rand) string {
	if rnd.IntN(12) == 0 {
		return " \n"
	}
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		fmt.Fprintf(&b, "w%d%s", rnd.IntN(1000), []string{" ", "", "\n", "é "}[rnd.IntN(4)])
	}
	return b.String()
}

// fragments cuts the parts of a response into deltas. Calls and thinking grow interleaved with everything; of texts one ends
// before the next begins, so that their order is that in which they were shown.
func fragments(rnd *rand.Rand, resp *model.Message) []model.Delta {
	queues := make([][]model.Delta, len(resp.Parts))
	for i := range resp.Parts {
		p := &resp.Parts[i]
		d := model.Delta{Part: i, Kind: p.Kind, CallID: p.CallID, Tool: p.Tool}
		text := []byte(p.Text)
		switch p.Kind {
		case model.PartToolCall:
			text = p.Args
			if rnd.IntN(2) == 0 { // a delta that only begins the call
				queues[i] = append(queues[i], d)
				d.CallID, d.Tool = "", ""
			}
		case model.PartOpaque:
			queues[i] = []model.Delta{{Part: i, Whole: p}}
			continue
		}
		for first := true; first || len(text) > 0; first = false {
			n := min(len(text), 1+rnd.IntN(12))
			for n < len(text) && text[n]&0xc0 == 0x80 {
				n++
			}
			d.Text, text = string(text[:n]), text[n:]
			queues[i] = append(queues[i], d)
			d.CallID, d.Tool = "", ""
		}
		if p.Signature != nil {
			queues[i] = append(queues[i], model.Delta{Part: i, Whole: p})
		}
	}
	var all []model.Delta
	for started := 0; ; {
		var open []int // the parts that may grow: those that have begun, and the next one
		texts := 0
		for i := range min(started+1, len(queues)) {
			isText := resp.Parts[i].Kind == model.PartText || resp.Parts[i].Kind == model.PartThinking
			if len(queues[i]) > 0 && (!isText || texts == 0) {
				open = append(open, i)
			}
			if len(queues[i]) > 0 && isText {
				texts++
			}
		}
		if len(open) == 0 {
			return all
		}
		i := open[rnd.IntN(len(open))]
		all, queues[i] = append(all, queues[i][0]), queues[i][1:]
		started = max(started, i+1)
	}
}

// stream sends a response to the sink, if there is one, and sets its usage.
func (w *nestedWorld) stream(ctx context.Context, run *nestedRun, rnd *rand.Rand, resp *model.Message, sink model.Sink, reported *model.Usage) error {
	all := fragments(rnd, resp)
	fault, at, reports, deaf := rnd.IntN(30), rnd.IntN(len(all)+1), rnd.IntN(4), rnd.IntN(4) == 0
	resp.Usage.InputTokens = int64(5 + rnd.IntN(20))
	for i := 0; i <= len(all); i++ {
		if i == at {
			switch fault {
			case 0:
				return errBoom
			case 1:
				panic("the model panics")
			case 2, 3:
				w.cancel()
			}
		}
		if ctx.Err() != nil && !deaf {
			return context.Cause(ctx)
		}
		if sink == nil || i == len(all) {
			continue
		}
		d := all[i]
		resp.Usage.OutputTokens++
		so := resp.Usage
		if reports > 0 && rnd.IntN(reports) == 0 {
			d.Usage = &so
			if rnd.IntN(2) == 0 { // on its own
				*reported = so
				if err := sink(model.Delta{Usage: &so}); err != nil {
					return err
				}
				d.Usage = nil
			}
			*reported = so
		}
		if err := sink(d); err != nil {
			return err
		}
		w.reported(run, *reported)
	}
	resp.Usage.OutputTokens += int64(rnd.IntN(4))
	if resp.Usage.TotalTokens() > mostTokens {
		resp.Usage.OutputTokens = mostTokens - resp.Usage.InputTokens
	}
	return nil
}
