// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Replayer is a model that answers from a file. See [Replay].
type Replayer struct {
	file      string
	info      model.Info
	exchanges []*exchange
	known     map[string]int // number of occurrences of a request in the file

	mu   sync.Mutex
	left map[string][]*exchange
}

// Replay returns a model that answers from a file written by [Record]: with the recorded response,
// streamed in the recorded deltas, or with the recorded error, which keeps the sentinels of package
// model and the fields of [*model.APIError]. It runs in the process, so [model.ForbidRequests] does
// not apply.
//
// A request is answered by the first unused exchange that sent the same instructions, tools,
// settings and parts of messages. It need not match in whether it is streamed: an unstreamed
// response is streamed word by word. A request that is not in the file is an error that describes
// the difference to the nearest one. An exchange that the caller stopped during recording replays
// up to that point. A Replayer is safe for concurrent use.
func Replay(file string) (*Replayer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("modeltest: replay: %w", err)
	}
	rec, err := decodeRecording(data)
	if err != nil {
		return nil, fmt.Errorf("modeltest: replay %s: %w", file, err)
	}
	r := &Replayer{file: file, info: rec.Info, exchanges: rec.Exchanges, known: map[string]int{}, left: map[string][]*exchange{}}
	for _, x := range rec.Exchanges {
		key := x.request.key()
		r.known[key]++
		r.left[key] = append(r.left[key], x)
	}
	return r, nil
}

// Info implements [model.Model]. It returns the Info of the recorded model.
func (r *Replayer) Info() model.Info { return r.info }

// Left returns the number of unused exchanges.
func (r *Replayer) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, list := range r.left {
		n += len(list)
	}
	return n
}

// Generate implements [model.Model].
func (r *Replayer) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	x, err := r.take(req)
	if err != nil {
		return nil, fmt.Errorf("modeltest: replay %s: %w", r.file, err)
	}
	if sink != nil && x.deltas == nil && x.response != nil {
		err = Emit(ctx, x.response, sink)
	} else if sink != nil {
		err = x.stream(ctx, sink)
	}
	switch {
	case err != nil:
		return nil, err
	case x.err != nil:
		return nil, x.err.replay()
	case x.stopped == "":
		return x.response.Clone(), nil
	}
	if x.stopped == stoppedByContext && ctx.Done() != nil {
		<-ctx.Done() // as during recording
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("modeltest: replay %s: the recording ends within this response, because the caller's %s ended it; %s",
		r.file, x.stopped, howToRecord)
}

// stream passes the recorded deltas to a sink.
func (x *exchange) stream(ctx context.Context, sink model.Sink) error {
	for i := range x.deltas {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := sink(x.deltas[i].delta()); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// take returns the exchange that answers a request.
func (r *Replayer) take(req *model.Request) (*exchange, error) {
	request, err := sent(req)
	if err != nil {
		return nil, err
	}
	key := request.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.left[key]; len(list) > 0 {
		r.left[key] = list[1:]
		return list[0], nil
	}
	if n := r.known[key]; n > 0 {
		return nil, fmt.Errorf("the same request was recorded %d times and is made again: %s; %s", n, describeRequest(req), howToRecord)
	}
	nearest := r.nearest(request)
	if nearest < 0 {
		return nil, errors.New("the recording is empty; " + howToRecord)
	}
	return nil, fmt.Errorf("the request is not in the recording; nearest is exchange %d, except for %s; %s",
		nearest+1, difference(r.exchanges[nearest].request, request), howToRecord)
}

// nearest returns the index of the exchange whose request has most in common with a request that is
// not in the recording. Among equals it prefers the first unused one. It returns -1 if there is
// none.
func (r *Replayer) nearest(request *sentRequest) int {
	best, most := -1, -1
	for i, x := range r.exchanges {
		score := 0
		for score < min(len(x.request.Messages), len(request.Messages)) && reflect.DeepEqual(x.request.Messages[score], request.Messages[score]) {
			score++
		}
		score *= 4
		if len(x.request.Messages) == len(request.Messages) {
			score += 2
		}
		if slices.Contains(r.left[x.request.key()], x) {
			score++
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}
