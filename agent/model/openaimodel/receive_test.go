// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestFieldsOfWrongTypeAreIgnored(t *testing.T) {
	for name, body := range map[string]string{
		"a number as id":         `{"id":7,"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`,
		"an id that is an array": `{"id":[7],"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`,
		"usage in fractions":     `{"id":"i","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1.5}}`,
		"a numeric finish":       `{"id":"i","choices":[{"index":0,"message":{"content":"x"},"finish_reason":1}]}`,
		"details of no shape":    `{"id":"i","choices":[{"index":0,"message":{"content":"x","reasoning_details":[1,"a",null]}}]}`,
		"details that are text":  `{"id":"i","choices":[{"index":0,"message":{"content":"x","reasoning_details":"hm"}}]}`,
		"a byte order mark":      "\ufeff" + `{"id":"i","choices":[{"index":0,"message":{"content":"x"}}]}`,
		"an escaped text":        `{"id":"i","choices":[{"index":0,"message":{"content":"\u0078"}}]}`,
		"an unknown choice":      `{"id":"i","choices":[{"index":1,"message":{"content":"y"}},{"index":0,"message":{"content":"x"}}]}`,
	} {
		msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, ""), hello())
		require.NoError(t, err, name)
		require.Equal(t, "x", msg.Text(), name)
		require.Equal(t, model.FinishStop, msg.Finish, name)
	}
}

// Azure leaves out the message of a choice that its filter withheld.
func TestFilteredChoiceWithoutMessage(t *testing.T) {
	const body = `{"id":"i","model":"gpt-x","choices":[{"index":0,"finish_reason":"content_filter","logprobs":null,` +
		`"content_filter_results":{"hate":{"filtered":true,"severity":"high"}}}],"usage":{"prompt_tokens":15,"total_tokens":15}}`
	msg, err := newModel(t, serve(t, answer{Body: body}).URL, "azure").Generate(context.Background(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, model.FinishContentFilter, msg.Finish)
	require.Empty(t, msg.Parts)
	require.Equal(t, model.Usage{InputTokens: 15}, msg.Usage)
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"a` + "\xff" + `b"}}]}`, events(`{"choices":[{"delta":{"content":"a` + "\xff" + `b"},"finish_reason":"stop"}]}`),
	} {
		msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, ""), hello())
		require.NoError(t, err)
		require.Equal(t, "a\ufffdb", msg.Text())
	}
}

// endless repeats a piece forever.
type endless struct {
	piece string
	pos   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.piece[e.pos:])
	e.pos = (e.pos + n) % len(e.piece)
	return n, nil
}

func TestResponseSizeIsLimited(t *testing.T) {
	t.Parallel() // it takes a second
	fromReader := func(r io.Reader) *openaimodel.Model {
		return newModel(t, "http://x.test", "", func(c *openaimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
				return adaptertest.Respond(req, 200, io.NopCloser(r)), nil
			})}
		})
	}
	var many strings.Builder
	for i := range 2000 {
		many.WriteString(openEvents(fragment(i, "", "f", "{}")))
	}
	var images strings.Builder
	for i := range 2000 {
		images.WriteString(openEvents(delta(fmt.Sprintf(`{"images":[{"image_url":{"url":"https://x.test/%d"}}]}`, i))))
	}
	for want, r := range map[string]io.Reader{
		"more than 1024 images":           strings.NewReader(images.String()),
		"longer than 64 MiB":              io.MultiReader(strings.NewReader(`{"x":"`), &endless{piece: strings.Repeat("x", 1<<20)}),
		"more than 16 MiB without":        io.MultiReader(strings.NewReader(`data: `), &endless{piece: strings.Repeat("x", 1<<20)}),
		"more than 1024 tool calls":       strings.NewReader(many.String()),
		"the response is longer than 64 ": &endless{piece: openEvents(delta(`{"content":"` + strings.Repeat("x", 4<<20) + `"}`))},
	} {
		if strings.HasPrefix(want, "the response") && raceDetector {
			continue // takes seconds
		}
		_, err := fromReader(r).Generate(context.Background(), hello(), nil)
		require.ErrorContains(t, err, want)
		require.False(t, apiError(t, err).Retryable)
	}
}

func TestConnectionErrorsAreExplained(t *testing.T) {
	failing := func(cause error) error {
		m := newModel(t, "http://x.test", "", func(c *openaimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, cause })}
		})
		_, err := m.Generate(context.Background(), hello(), nil)
		require.ErrorIs(t, err, cause)
		return err
	}
	err := failing(&net.DNSError{Err: "no such host", Name: "x.test", IsNotFound: true})
	require.ErrorContains(t, err, "the host of http://x.test/v1 cannot be resolved")
	require.False(t, apiError(t, err).Retryable)
	require.True(t, apiError(t, failing(&net.DNSError{Err: "server misbehaving", IsTemporary: true})).Retryable)
	err = failing(errors.New("echo of " + testKey))
	require.ErrorContains(t, err, "no answer from http://x.test/v1 or a proxy (echo of [redacted])")

	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err = newModel(t, s.URL, "").Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, fmt.Sprintf("the certificate of %s/v1 cannot be verified", s.URL))
	require.False(t, apiError(t, err).Retryable)
}
