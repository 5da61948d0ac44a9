// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/wholefile"
)

// Recorder is a model that records its exchanges with another model. See [Record].
type Recorder struct {
	m    model.Model
	file string

	mu        sync.Mutex
	exchanges []*exchange
	done      map[*exchange]bool
}

// Record returns a model that passes requests on to m. When closed, it writes all exchanges to a
// file for [Replay]. Most tests use [Recorded], which does one or the other.
//
// The file is indented JSON. It holds what is sent to the model: instructions, messages, tools and
// settings, each only if it changed since an earlier request. It also holds the response, the
// deltas if it was streamed, or the error. It does not hold run ids, times, metadata and other
// application data, the values of [model.Settings.ExtraHeaders], or media, of which it holds
// digests. Keys and other headers never reach this package. Instructions, messages, ExtraBody and
// responses may still contain secrets, so check a file before committing it.
//
// Requests are stored in the order they were made. Requests that did not reach the model are left
// out, because the context had ended or [model.ForbidRequests] is in effect. A Recorder is safe for
// concurrent use.
func Record(m model.Model, file string) *Recorder {
	return &Recorder{m: m, file: file, done: map[*exchange]bool{}}
}

// Info implements [model.Model]. It returns the Info of m.
func (r *Recorder) Info() model.Info { return r.m.Info() }

// Generate implements [model.Model].
func (r *Recorder) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if ctx.Err() != nil {
		return r.m.Generate(ctx, req, sink)
	}
	request, err := sent(req)
	if err != nil {
		return nil, fmt.Errorf("modeltest: record %s: %w", r.file, err)
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

// Close writes the file and replaces an existing one. It does not close m. Requests still in
// progress are left out.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := &recordedFile{Info: r.m.Info()}
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
		return fmt.Errorf("modeltest: record %s: %w", r.file, err)
	}
	return nil
}

func replaceFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return wholefile.Write(file, text, 0o644)
}
