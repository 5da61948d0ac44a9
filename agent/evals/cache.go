// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/wholefile"
	"github.com/ponte-go/ponte/toolset"
)

// cache keeps the answers of models by what was asked: see [Options.Cache].
type cache struct{ dir string }

// cacheVersion is part of each key. A change of what is kept changes it.
const cacheVersion = 2

// cachedRequest has everything that an answer depends on.
type cachedRequest struct {
	Version  int
	Model    *model.Info
	Identity string
	Repeat   int
	Request  model.Request
}

// cachedKey marks the context of a request whose answer is known.
type cachedKey struct{}

// answer answers a request from the cache, or keeps the answer of the model. An answer counts on
// the run as if the model had given it, and not on the budget.
func (c *cache) answer(ctx context.Context, run *toolset.RunContext[any], req *model.Request,
	next agent.RequestFunc) (*model.Message, error) {
	p := placeOf(ctx)
	host, ok := run.Host.(model.Identifier)
	if p == nil || run.Model == nil || !ok || host.Identity() == "" {
		return next(ctx, req)
	}
	asked := cachedRequest{cacheVersion, run.Model, host.Identity(), p.repeat, *req}
	file, err := c.file(asked)
	if err != nil {
		return next(ctx, req)
	}
	if known := read(file); known != nil {
		answer := model.Func(*run.Model, func(context.Context, *model.Request,
			model.Sink) (*model.Message, error) {
			return known, nil
		})
		resp, err := run.Meter.Generate(context.WithValue(ctx, cachedKey{}, p), answer, req, nil)
		if err == nil {
			p.mu.Lock()
			addUsage(&p.cached, toolset.Usage{
				Requests: 1, Usage: resp.Usage, Cost: run.Meter.Cost(*run.Model, resp),
			})
			p.mu.Unlock()
		}
		return resp, err
	}
	resp, err := next(ctx, req)
	if err == nil && resp != nil && !resp.Interrupted {
		keepAnswer(file, resp)
	}
	return resp, err
}

// file returns the name of the file for the answer to a request. What differs from run to run, such
// as ids and times, is left out.
func (c *cache) file(asked cachedRequest) (string, error) {
	messages := asked.Request.Messages
	asked.Request.Messages = nil
	for _, msg := range messages {
		sent := &model.Message{Kind: msg.Kind}
		for _, part := range msg.Parts {
			part.Meta, part.Decision, part.Keep = nil, nil, ""
			sent.Parts = append(sent.Parts, part)
		}
		asked.Request.Messages = append(asked.Request.Messages, sent)
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(text))
	return filepath.Join(c.dir, name[:2], name), nil
}

// read returns a kept answer. One that is damaged counts as none.
func read(file string) *model.Message {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	resp := new(model.Message)
	if json.Unmarshal(data, resp) != nil || resp.Kind != model.KindResponse {
		return nil
	}
	return resp
}

// keepAnswer keeps an answer. If that fails, the next run asks again.
func keepAnswer(file string, resp *model.Message) {
	kept := resp.Clone()
	kept.RunID, kept.ConversationID, kept.Step, kept.Time = "", "", 0, time.Time{}
	data, err := json.Marshal(kept)
	if err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = wholefile.Write(file, data, 0o600)
	}
}
