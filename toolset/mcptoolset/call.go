// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/toolset"
)

// caller is the run that a call belongs to.
type caller struct {
	call  *toolset.Call
	host  toolset.Host
	info  *toolset.RunInfo
	title string // of the tool, for people
}

// flight is a call in progress. The server's requests during the call are answered on behalf of its
// run.
type flight struct {
	caller
	link  *link
	token string
	ctx   context.Context
	end   context.CancelFunc
	// work counts the server's requests. The call waits for them, because the run can answer only
	// until the call returns.
	work sync.WaitGroup

	mu    sync.Mutex
	over  bool
	asked int
	// event is the last event that has not been emitted. Newer ones replace it, to bound the memory
	// a server can use.
	event    any
	emitting bool
}

// flightKey finds the flight in the context of a call. Servers of the stateless protocol ask for
// input in the answer to a call, which the SDK handles with the call's context.
type flightKey struct{}

// depart begins a call.
func (l *link) depart(ctx context.Context, c caller) *flight {
	f := &flight{caller: c, link: l}
	ctx, f.end = context.WithCancel(ctx)
	f.ctx = context.WithValue(ctx, flightKey{}, f)
	l.mu.Lock()
	l.next++
	f.token = strconv.FormatUint(l.next, 10)
	l.flights[f.token] = f
	l.mu.Unlock()
	return f
}

// arrive ends a call. answered reports that the server is done with it.
func (f *flight) arrive(answered bool) {
	f.end()
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.link.mu.Lock()
	delete(f.link.flights, f.token)
	if !answered {
		if f.link.abandoned == nil {
			f.link.abandoned = map[string]struct{}{}
		}
		f.link.abandoned[f.info.RunID] = struct{}{}
	}
	f.link.mu.Unlock()
	f.work.Wait()
}

// enter counts a request of the server on behalf of the call. It fails if the call has ended, or if
// the server asks too often. The caller calls work.Done.
func (f *flight) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return errors.New("the call has ended")
	}
	if f.asked >= f.link.server.config.Limits.Questions {
		return fmt.Errorf("more than %d requests in one call", f.link.server.config.Limits.Questions)
	}
	f.asked++
	f.work.Add(1)
	return nil
}

// emit sends an event to the observer of the run, without waiting for the observer. If events come
// faster than they are observed, only the last one is kept.
func (f *flight) emit(event any) {
	if f.host == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	f.event = event
	if !f.emitting {
		f.emitting = true
		f.work.Go(f.emitAll)
	}
}

func (f *flight) emitAll() {
	for {
		f.mu.Lock()
		event := f.event
		f.event = nil
		if event == nil {
			f.emitting = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		f.host.Emit(*f.call, event)
	}
}

// call calls a tool. The error is one that the model is told, or the end of ctx.
func (s *Server) call(ctx context.Context, c caller, d *Definition, args json.RawMessage) (toolset.Result, error) {
	l, err := s.ready(ctx)
	if err != nil {
		return toolset.Result{}, s.unavailable(ctx, err)
	}
	if cat := s.catalogNow(ctx); cat == nil || cat.byName[d.Name] == nil || cat.byName[d.Name].Digest != d.Digest {
		return toolset.Result{}, toolset.Failed("The MCP server %q has changed or removed this tool, so it was not called. Use the tools as they are listed now.", s.config.Name)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	params := &mcp.CallToolParams{Name: d.Name, Arguments: args}
	f := l.depart(ctx, c)
	if f.host != nil {
		params.Meta = mcp.Meta{"progressToken": f.token}
	}
	res, err := l.session.CallTool(f.ctx, params)
	f.arrive(err == nil || answered(err))
	if err != nil {
		return toolset.Result{}, s.failure(ctx, l, err)
	}
	return result(s.config.Name, d, res, &s.config.Limits, c.info.Model)
}

// answered reports whether an error is the server's answer.
func answered(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// failure is the error of a request that has failed.
func (s *Server) failure(ctx context.Context, l *link, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if e.Code == mcp.CodeURLElicitationRequired {
			return toolset.Failed(
				"The MCP server %q needs the user to visit a web page first: %s", s.config.Name,
				shortened(e.Message, 1000),
			)
		}
		return toolset.Failed("The MCP server %q refused the call: %s", s.config.Name, shortened(e.Message, 4000))
	}
	if l.lost(err) {
		return toolset.Failed("The connection to the MCP server %q was lost during this call. It is not known whether the call had any effect. The call was not repeated. Reason: %s",
			s.config.Name, s.plain(l.explain(err)))
	}
	return toolset.Failed("The call of the MCP server %q failed. It is not known whether the call had any effect. The call was not repeated. Reason: %s",
		s.config.Name, s.plain(err))
}

// unavailable is the error of a request that could not be made.
func (s *Server) unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return toolset.Failed(
		"The MCP server %q is not available now, so nothing was done: %s", s.config.Name,
		s.plain(err),
	)
}
