// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// Transport answers within the process, without a network, which allows tests to fake time. No
// goroutine may be left when a bubble of synctest ends, and so tests that use it also check for
// leaks.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Client returns a client whose requests f answers.
func (f Transport) Client() *http.Client { return &http.Client{Transport: f} }

// Respond returns a response to r.
func Respond(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: body, ContentLength: -1, Request: r,
	}
}

// Text is a body.
func Text(body string) io.ReadCloser { return io.NopCloser(strings.NewReader(body)) }

// Never does not answer.
func Never(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// Canned answers with a body once it has read the whole request, as a connection would.
func Canned(body string) Transport {
	return func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return Respond(r, 200, Text(body)), nil
	}
}

// Failing answers with a status, a body, and headers, which are names and values in turns.
func Failing(status int, body string, header ...string) Transport {
	return func(r *http.Request) (*http.Response, error) {
		resp := Respond(r, status, Text(body))
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// Drip sends each piece after a pause, and then nothing more without ending the body.
func Drip(pause time.Duration, pieces ...string) Transport {
	return func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		stop := context.AfterFunc(r.Context(), func() { pw.CloseWithError(context.Cause(r.Context())) })
		go func() {
			for _, p := range pieces {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					return // a write might be read before the pipe is closed
				}
				if _, err := io.WriteString(pw, p); err != nil {
					stop()
					return
				}
			}
		}()
		return Respond(r, 200, pr), nil
	}
}
