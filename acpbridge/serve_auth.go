// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
)

// Auth logs the user of an agent in and out. Its methods may be called from several goroutines.
// Errors are shown to the user, in one line, and must not hold secrets.
type Auth interface {
	// Methods returns the ways to log in, the best first. Clients are told of them in initialize,
	// so it does no I/O. Methods of the kind terminal, which start the program a second time, are
	// told only to clients that can do that. Ids must be unique.
	Methods() []acp.AuthMethod
	// Check says why the agent cannot be used before the user has logged in, or nil. It is called
	// when a session begins.
	Check(ctx context.Context) error
	// Authenticate logs the user in by one of Methods that is not of the kind terminal. It may take
	// as long as the user needs. Its ctx ends when the client cancels the request.
	Authenticate(ctx context.Context, id acp.AuthMethodID) error
	// Logout forgets the login. Sessions continue; a model that needs the login refuses their
	// prompts with model.ErrAuth.
	Logout(ctx context.Context) error
}

// authMethods returns the ways to log in that the client can go.
func (s *server) authMethods() []acp.AuthMethod {
	methods := []acp.AuthMethod{}
	if s.auth == nil {
		return methods
	}
	s.mu.Lock()
	terminal := s.peer.ClientCapabilities.Auth.Terminal
	s.mu.Unlock()
	for _, m := range s.auth.Methods() {
		if m.Terminal == nil || terminal {
			methods = append(methods, m)
		}
	}
	return methods
}

func (s *server) authCapabilities() acp.AgentAuthCapabilities {
	if s.auth == nil {
		return acp.AgentAuthCapabilities{}
	}
	return acp.AgentAuthCapabilities{Logout: &acp.LogoutCapabilities{}}
}

// checkAuth returns the error for a request that begins a session while the user is not logged in.
// It is nil if the user is or need not be.
func (s *server) checkAuth(ctx context.Context) error {
	if s.auth == nil {
		return nil
	}
	err := guarded(func() error { return s.auth.Check(ctx) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return s.authFailure(err)
}

// guarded returns a panic of user code as an error.
func guarded(f func() error) (err error) {
	defer recovered(&err)
	return f()
}

// authFailure returns the error that asks the user to log in, with the ways to do so.
func (s *server) authFailure(err error) error {
	if _, panicked := errors.AsType[*agent.PanicError](err); panicked {
		s.logError("authentication panicked", "", err)
		return acp.Errorf(acp.CodeInternal, "%s", oneLine("internal error: "+err.Error())).WithData(errorData{Kind: KindPanic})
	}
	return s.withMethods(acp.Errorf(acp.CodeAuthRequired, "%s", oneLine(err.Error())).WithData(errorData{Kind: KindAuth}))
}

// withMethods adds the login methods to an error that asks the user to log in. Other errors are
// unchanged.
func (s *server) withMethods(err error) error {
	failure, ok := errors.AsType[*acp.Error](err)
	if !ok || failure.Code != acp.CodeAuthRequired || s.auth == nil {
		return err
	}
	var data map[string]any
	if json.Unmarshal(failure.Data, &data) != nil || data == nil {
		data = map[string]any{"kind": KindAuth}
	}
	data["authMethods"] = s.authMethods()
	return acp.Errorf(failure.Code, "%s", failure.Message).WithData(data)
}

// Authenticate implements [acp.Agent].
func (s *server) Authenticate(ctx context.Context, p *acp.AuthenticateRequest) (*acp.AuthenticateResponse, error) {
	if s.auth == nil {
		return nil, acp.ErrMethodNotFound
	}
	if err := s.checkMethod(p.MethodID); err != nil {
		return nil, err
	}
	acp.Async(ctx) // the user may take time
	if err := guarded(func() error { return s.auth.Authenticate(ctx, p.MethodID) }); err != nil {
		s.logError("not authenticated", "", err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.authFailure(err)
	}
	s.log.Info("acpbridge: authenticated", "method", p.MethodID)
	return &acp.AuthenticateResponse{}, nil
}

// checkMethod refuses methods that are not for the protocol's authenticate.
func (s *server) checkMethod(id acp.AuthMethodID) error {
	for _, m := range s.auth.Methods() {
		switch {
		case m.Agent != nil && m.Agent.ID == id:
			return nil
		case m.Terminal != nil && m.Terminal.ID == id:
			return acp.Errorf(acp.CodeInvalidParams, "invalid params: the authentication method %q needs a terminal: start the agent there with the method's arguments", id).
				WithData(errorData{Kind: KindAuth})
		}
	}
	return acp.Errorf(acp.CodeInvalidParams, "invalid params: there is no authentication method %q", oneLine(string(id))).WithData(errorData{Kind: KindAuth})
}

// Logout implements [acp.Agent].
func (s *server) Logout(ctx context.Context, _ *acp.LogoutRequest) (*acp.LogoutResponse, error) {
	if s.auth == nil {
		return nil, acp.ErrMethodNotFound
	}
	acp.Async(ctx)
	if err := guarded(func() error { return s.auth.Logout(ctx) }); err != nil {
		s.logError("not logged out", "", err)
		return nil, acp.Errorf(acp.CodeInternal, "%s", oneLine("not logged out: "+err.Error())).WithData(errorData{Kind: KindAuth})
	}
	s.log.Info("acpbridge: logged out")
	return &acp.LogoutResponse{}, nil
}

// checkAuthMethods returns what is wrong with the methods of a configuration.
func checkAuthMethods(auth Auth) error {
	if auth == nil {
		return nil
	}
	seen := map[acp.AuthMethodID]bool{}
	for i, m := range auth.Methods() {
		var id acp.AuthMethodID
		switch {
		case m.Agent != nil:
			id = m.Agent.ID
		case m.Terminal != nil:
			id = m.Terminal.ID
		default:
			return fmt.Errorf("Auth: method %d is neither of the agent nor of a terminal", i)
		}
		if id == "" || seen[id] {
			return fmt.Errorf("Auth: method %d has the id %q: ids must be unique and not empty", i, id)
		}
		seen[id] = true
	}
	return nil
}

// recovered turns a panic of user code into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &agent.PanicError{Value: p, Stack: debug.Stack()}
	}
}
