// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Recorder is a model that keeps the exchanges with another one for a file. See [Record].
type Recorder struct {
	m    model.Model
	file string

	mu        sync.Mutex
	exchanges []*exchange
	done      map[*exchange]bool
}

// Record returns a model that passes requests on to m, and writes all exchanges to a file when it is closed, for
// [Replay] to answer from. Most tests use [Model], which does one or the other.
//
// The file is indented JSON. It holds what reaches the model: instructions, messages, tools, settings, each only where
// it changed since an earlier request; the response; the deltas as they came, if it was streamed; or the error. It does not
// hold run ids, times, metadata and other data of the application, media (but their digests) and the values of
// [model.Settings.ExtraHeaders]. Keys and other headers never reach this package; what instructions, messages,
// ExtraBody and the provider's answers say does, so look at a file before it is committed.
//
// Requests are kept in the order in which they were made. Those that did not reach the model, because the context had ended
// before or [model.ForbidRequests] is in force, are left out. A Recorder is safe for concurrent use.
func Record(m model.Model, file string) *Recorder {
	return &Recorder{m: m, file: file, done: map[*exchange]bool{}}
}

// Info implements [model.Model]: it is m's.
func (r *Recorder) Info() model.Info { return r.m.Info() }

// Generate implements [model.Model].
func (r *Recorder) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if ctx.Err() != nil {
		return r.m.Generate(ctx, req, sink)
	}
	request, err := sent(req)
	if err != nil {
		return nil, fmt.Errorf("recording: record %s: %w", r.file, err)
	}
	x := &exchange{request: request}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, x)
	r.mu.Unlock()

	observed := sink
	if sink != nil {
		x.deltas = []recordedDelta{}
		observed = func(d model.Delta) error {
			x.deltas = append(x.deltas, recordDelta(d))
			err := sink(d)
			if err != nil {
				x.stopped = stoppedBySink
			}
			return err
		}
	}
	resp, err := r.m.Generate(ctx, req, observed)
	switch {
	case x.stopped != "" || resp == nil && err == nil || errors.Is(err, model.ErrRequestsForbidden):
	case err == nil:
		x.response = resp.Clone()
		x.response.RunID, x.response.ConversationID, x.response.Metadata, x.response.Time = "", "", nil, time.Time{}
	case ctx.Err() != nil:
		x.stopped = stoppedByContext
	default:
		x.err = recordError(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[x] = x.response != nil || x.err != nil || x.stopped != ""
	return resp, err
}

// Close writes the file, in place of one that is there. It does not close m. Requests that are still waiting for their
// answer are left out.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := &recording{Info: r.m.Info()}
	for _, x := range r.exchanges {
		if r.done[x] {
			rec.Exchanges = append(rec.Exchanges, x)
		}
	}
	text, err := rec.encode()
	if err == nil {
		err = replaceFile(r.file, text)
	}
	if err != nil {
		return fmt.Errorf("recording: record %s: %w", r.file, err)
	}
	return nil
}

// replaceFile writes a file so that there is never a part of it.
func replaceFile(file string, text []byte) (err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".recording-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
