// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// stub is a Genkit model without Genkit's checks.
type stub struct {
	ai.Model
	f generate
}

func (s stub) Name() string { return "fake/model" }

func (s stub) Generate(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	return s.f(ctx, req, cb)
}

func openStub(t testing.TB, f generate) *genkitmodel.Model {
	t.Helper()
	m, err := genkitmodel.New(stub{f: f}, genkitmodel.Config{})
	require.NoError(t, err)
	return m
}

func TestBrokenPluginsAreErrors(t *testing.T) {
	var noDetails *core.GenkitError
	for name, test := range map[string]struct {
		f         generate
		says      string
		retryable bool
		is        error
	}{
		"a panic": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				panic("no parts")
			},
			says: "the Genkit plugin panicked: no parts",
		},
		"a panic with an error": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				panic(io.ErrShortWrite)
			},
			says: "short write", is: io.ErrShortWrite,
		},
		"an end of the goroutine": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				runtime.Goexit()
				return nil, nil
			},
			says: "the Genkit plugin ended its goroutine",
		},
		"neither response nor error": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return nil, nil
			},
			says: "no response", retryable: true, is: io.ErrUnexpectedEOF,
		},
		"no message": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return &ai.ModelResponse{FinishReason: ai.FinishReasonStop}, nil
			},
			says: "the response has no message", retryable: true,
		},
		"a call without a name": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return answer(ai.NewToolRequestPart(&ai.ToolRequest{Ref: "c"})), nil
			},
			says: "a tool call without a name", retryable: true,
		},
		"arguments without a JSON form": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return answer(ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Input: make(chan int)})), nil
			},
			says: `cannot encode the arguments of a call of "t"`,
		},
		"a broken answer": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return nil, io.ErrUnexpectedEOF
			},
			says: "unexpected EOF", retryable: true, is: io.ErrUnexpectedEOF,
		},
		"nobody there": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return nil, &url.Error{Op: "Post", URL: "http://host/v1?key=secret", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
			},
			says: "nothing listens at http://host/v1:", retryable: true, is: syscall.ECONNREFUSED,
		},
		"an error of Genkit": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return nil, core.NewError(core.RESOURCE_EXHAUSTED, "too much")
			},
			says: "HTTP 429 Too Many Requests (RESOURCE_EXHAUSTED): too much", retryable: true, is: model.ErrRateLimited,
		},
		"another error": {
			f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return nil, errors.New(strings.Repeat("long ", 1000))
			},
			says: "long …",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openStub(t, test.f).Generate(t.Context(), hello(), nil)
			var e *model.APIError
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
			require.Less(t, len(err.Error()), 2500)
			require.Equal(t, test.retryable, e.Retryable)
			require.Equal(t, []string{"fake", "model"}, []string{e.Provider, e.Model})
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			require.Equal(t, strings.Contains(name, "of Genkit"), errors.As(err, &noDetails))
		})
	}
}

// Genkit's telemetry panics if a plugin returns nothing, and tracing panics again.
func TestPluginThatReturnsNothing(t *testing.T) {
	m := open(t, genkitmodel.Config{}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return nil, nil
	})
	_, err := m.Generate(t.Context(), hello(), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.True(t, e.Retryable)
}

func TestPanicNamesTheFunction(t *testing.T) {
	m := open(t, genkitmodel.Config{}, panicking)
	_, err := m.Generate(t.Context(), hello(), nil)
	require.ErrorContains(t, err, "genkitmodel_test.panicking")
	var p *genkitmodel.PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, p.Origin, "panicking")
}

func panicking(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	var none *ai.Message
	return answer(none.Content...), nil
}

func TestGenkitsOwnErrorsAreUnsupported(t *testing.T) {
	sent := false
	f := func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		sent = true
		return answer(ai.NewTextPart("hi")), nil
	}
	m, err := genkitmodel.New(ai.NewModel("fake/model", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true}}, f), genkitmodel.Config{})
	require.NoError(t, err)
	req := hello()
	req.Tools = []model.ToolDef{{Name: "t"}}
	_, err = m.Generate(t.Context(), req, nil)
	require.ErrorIs(t, err, model.ErrUnsupported)
	require.False(t, errors.As(err, new(*model.APIError)))
	require.False(t, sent)
}

func TestGenerateEndsWithoutThePlugin(t *testing.T) {
	release, ended := make(chan struct{}), make(chan error, 1)
	m := openStub(t, func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		if cb != nil {
			_ = cb(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart("one")}})
		}
		<-release // ignores the context
		if cb != nil {
			ended <- cb(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart("two")}})
		}
		return answer(ai.NewTextPart("onetwo")), nil
	})
	why := errors.New("the user has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	_, err := m.Generate(ctx, hello(), func(model.Delta) error { return cause })
	require.Same(t, cause, err, "the sink's error")

	_, err = m.Generate(ctx, hello(), func(d model.Delta) error {
		require.Equal(t, "one", d.Text, "nothing comes after Generate")
		cancel(why)
		return nil
	})
	require.ErrorIs(t, err, why)
	close(release)
	require.Error(t, <-ended, "the plugin is told to stop")
	require.Error(t, <-ended)
}

func TestSinkErrorCancelsThePlugin(t *testing.T) {
	enough, told := errors.New("enough"), make(chan error, 1)
	m := open(t, genkitmodel.Config{}, func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		_ = cb(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart("one")}})
		<-ctx.Done()
		told <- ctx.Err()
		return nil, ctx.Err()
	})
	_, err := m.Generate(t.Context(), hello(), func(model.Delta) error { return enough })
	require.Same(t, enough, err)
	require.ErrorIs(t, <-told, context.Canceled)
}

func TestInvalidConfigsAreErrors(t *testing.T) {
	_, err := genkitmodel.New(nil, genkitmodel.Config{})
	require.ErrorContains(t, err, "the Genkit model is nil")
	nameless := ai.NewModel("nameless", nil, nil)
	_, err = genkitmodel.New(nameless, genkitmodel.Config{ContextWindow: -1, Settings: &model.Settings{MaxTokens: -1}})
	for _, problem := range []string{"has no provider", "ContextWindow is negative", "Config.Settings: the setting MaxTokens is -1"} {
		require.ErrorContains(t, err, problem)
	}
	_, err = genkitmodel.New(nameless, genkitmodel.Config{Provider: "Fake"})
	require.ErrorContains(t, err, "not in lower case")
	m, err := genkitmodel.New(nameless, genkitmodel.Config{Provider: "other", Name: "name", ContextWindow: 5})
	require.NoError(t, err)
	require.Equal(t, model.Info{Provider: "other", Name: "name", ContextWindow: 5}, m.Info())
	require.Equal(t, "other name through Genkit", m.String())
	require.Equal(t, m.String(), m.LogValue().String())
}

func TestKeysAreRemovedBeforeTruncation(t *testing.T) {
	const key = "sk-0123456789abcdef"
	m := open(t, genkitmodel.Config{Redact: func(s string) string { return strings.ReplaceAll(s, key, "[redacted]") }},
		func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			return nil, errors.New(strings.Repeat("x", 1990) + key)
		})
	_, err := m.Generate(t.Context(), hello(), nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), key[:5])
}

func TestPluginsAPIErrorIsKept(t *testing.T) {
	mine := &model.APIError{Provider: "inner", Model: "small", Status: 503, Message: "busy", Retryable: true}
	m := openStub(t, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return nil, mine
	})
	_, err := m.Generate(t.Context(), hello(), nil)
	require.EqualError(t, err, "model: fake model: HTTP 503 Service Unavailable: busy")
	require.Equal(t, "inner", mine.Provider, "another request may have the same error")
}
