// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// The SDK addresses and signs a request. The bodies of request and response pass through [carrier]
// unchanged and are written and read by this package. The SDK would convert integers in arguments
// to floating-point numbers, drop unknown parts, accept a stream that breaks off as complete, and
// panic at an event that is not JSON.

// call is one request that is passed through the SDK.
type call struct {
	body   []byte
	header http.Header

	resp *http.Response
	err  error
}

type callKey struct{}

// sender makes one HTTP request. The caller closes the body of the response.
type sender func(ctx context.Context, c *call, stream bool) (*http.Response, error)

// newSender returns a function that sends requests. Unlike the SDK's client, it shows no key when a
// struct that contains it is printed or inspected by reflection.
func newSender(c *Config, base endpoint) (sender, error) {
	carry := carrier{client: adapter.Client(c.HTTPClient), credentials: c.Credentials}
	// The SDK does not use the context if a client is given.
	key := c.APIKey
	if key == "" && c.Backend == GeminiAPI {
		key, carry.anonymous = noKey, true
	}
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: c.Backend.sdk(), APIKey: key, Project: c.Project, Location: c.Location,
		HTTPClient:  &http.Client{Transport: carry},
		HTTPOptions: genai.HTTPOptions{BaseURL: base.base.String(), APIVersion: base.version},
	})
	if err != nil {
		return nil, err
	}
	// The SDK fills gaps from the environment. The Gemini API does not use a project.
	used := client.ClientConfig()
	if used.APIKey != key || c.Backend == VertexAI && (used.Project != c.Project || used.Location != c.Location) {
		return nil, errors.New("it read a key, project or location from the environment")
	}
	name := c.Name
	return func(ctx context.Context, c *call, stream bool) (*http.Response, error) {
		ctx = context.WithValue(ctx, callKey{}, c)
		err := sendWithSDK(ctx, client, name, stream)
		switch {
		case c.resp != nil || c.err != nil: // what the SDK reports about the empty response is irrelevant
			return c.resp, c.err
		case err != nil:
			return nil, err
		}
		return nil, errors.New("the SDK sent nothing")
	}, nil
}

func sendWithSDK(ctx context.Context, client *genai.Client, name string, stream bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the SDK panicked: %v", r)
		}
	}()
	once := false
	config := &genai.GenerateContentConfig{AutomaticContinuation: &once}
	if !stream {
		_, err = client.Models.GenerateContent(ctx, name, genai.Text("-"), config)
		return err
	}
	for _, streamed := range client.Models.GenerateContentStream(ctx, name, genai.Text("-"), config) {
		err = streamed
	}
	return err
}

// carrier is the transport of the SDK's client. It sends the request with the body of its [call],
// stores the response there, and returns an empty response to the SDK.
type carrier struct {
	client      *http.Client
	credentials *auth.Credentials
	// anonymous reports that there is no key, although the SDK requires one.
	anonymous bool
}

// noKey is passed to the SDK if there is no key. It is not sent.
const noKey = "none"

func (t carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("geminimodel: the SDK made an unexpected request")
	}
	c.resp, c.err = t.send(req, c)
	if c.err != nil {
		return nil, c.err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

func (t carrier) send(req *http.Request, c *call) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Body = io.NopCloser(bytes.NewReader(c.body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	out.ContentLength = int64(len(c.body))
	if t.credentials != nil {
		if err := authorize(out, t.credentials); err != nil {
			return nil, err
		}
	}
	if t.anonymous {
		out.Header.Del("X-Goog-Api-Key")
	}
	maps.Copy(out.Header, c.header)
	return t.client.Do(out)
}

// credentialsError reports a failure to get a token, as opposed to a failure of the request.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string {
	return "cannot get a token from the credentials: " + e.err.Error()
}
func (e *credentialsError) Unwrap() error { return e.err }

// mayPass reports whether getting the token may succeed later, because the token server was busy or
// unreachable.
func (e *credentialsError) mayPass() bool {
	if refused := (*auth.Error)(nil); errors.As(e.err, &refused) {
		return refused.Temporary()
	}
	return errors.As(e.err, new(net.Error))
}

// authorize sets the token and, if the credentials name one, the project to bill. The HTTP client
// drops the token when it follows a redirect to another host.
func authorize(req *http.Request, c *auth.Credentials) error {
	token, err := c.Token(req.Context())
	if err != nil {
		return &credentialsError{err}
	}
	kind := token.Type
	if kind == "" {
		kind = "Bearer"
	}
	req.Header.Set("Authorization", kind+" "+token.Value)
	if quota, err := c.QuotaProjectID(req.Context()); err == nil && quota != "" {
		req.Header.Set("X-Goog-User-Project", quota)
	}
	return nil
}

const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// authenticate looks for default credentials if c requires it.
func authenticate(c *Config) error {
	if c.Backend != VertexAI || c.APIKey != "" || c.Credentials != nil || c.HTTPClient != nil {
		return nil
	}
	found, err := detectCredentials("")
	c.Credentials = found
	return err
}

// detectCredentials reads the file or, if it is empty, looks for Application Default Credentials.
func detectCredentials(file string) (*auth.Credentials, error) {
	// Refreshing in the background would leak a goroutine.
	found, err := credentials.DetectDefault(&credentials.DetectOptions{
		Scopes: []string{cloudScope}, CredentialsFile: file, DisableAsyncRefresh: true,
	})
	if err != nil {
		return nil, fmt.Errorf("geminimodel: no credentials for Vertex AI: set GOOGLE_APPLICATION_CREDENTIALS, or run "+
			"gcloud auth application-default login: %w (%w)", model.ErrAuth, err)
	}
	return found, nil
}
