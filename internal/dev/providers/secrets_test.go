// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// Secrets as people put them into the base URL of a proxy, long and short.
const (
	urlUser, urlPassword, urlShort = "mallory-user", "p4ss-0123456789", "q7z"
	urlQuery                       = "key=s3cret-0123456789&k=" + urlShort
	withUser                       = "://" + urlUser + ":" + urlPassword + "@"
)

var withQuery = regexp.MustCompile(`://\S*[?@]\S*`)

// leaks returns what of the secrets is in a text.
func leaks(text string) []string {
	var found []string
	for _, secret := range []string{urlUser, urlPassword, "xxxxx", "s3cret", urlShort, "key="} {
		if strings.Contains(text, secret) {
			found = append(found, secret)
		}
	}
	return append(found, withQuery.FindAllString(text, -1)...)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// faults are what can go wrong on the way to an endpoint, and there. Servers quote what they were asked.
var faults = map[string]roundTrip{
	"dial": func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused by " + r.URL.String())}
	},
	"name": func(r *http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}
	},
	"proxy": func(r *http.Request) (*http.Response, error) {
		return nil, &url.Error{Op: "proxyconnect", URL: r.URL.String(), Err: &url.Error{Op: "parse", URL: r.URL.String(), Err: errors.New("bad")}}
	},
	"timeout":       func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded },
	"redirect":      status(302, "", "Location"),
	"broken target": status(307, "", "Broken"),
	"not found":     status(404, "Cannot POST URI"),
	"unauthorised":  status(401, `{"error":{"type":"authentication_error","message":"no key in URL"}}`),
	"html":          status(502, "<html><title>URL is down</title></html>"),
	"page":          status(200, "<html><title>URI</title></html>"),
	"empty":         status(500, ""),
	"no answer":     status(200, "{}"),
	"nonsense":      status(200, `{"error":"at URL"}`),
	"broken JSON":   status(200, `{"id":"URL`),
	"stream error":  status(200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"URL failed\"}}\n\n"),
	"stream cut": func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("data: {\n"), failing{fmt.Errorf("read from %s: %w", r.URL, io.ErrUnexpectedEOF)})
		return &http.Response{StatusCode: 200, Request: r, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	},
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// status answers with a body in which URL and URI stand for what was asked.
func status(code int, body string, location ...string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		text := strings.NewReplacer("URL", r.URL.String(), "URI", r.URL.RequestURI()).Replace(body)
		header := http.Header{"X-Request-Id": {r.URL.String()}}
		for _, kind := range location {
			header.Set("Location", "https://elsewhere.test/login?back="+r.URL.String())
			if kind == "Broken" {
				header.Set("Location", "://"+r.URL.String())
			}
		}
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Request: r, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// opened are models of every provider at an address with secrets, as far as the provider takes such an address.
func opened(t *testing.T, client *http.Client) map[string]model.Model {
	t.Helper()
	return openAll(t, model.OpenOptions{
		APIKey: "sk-0123456789", BaseURL: "https" + withUser + "h.test/v1?" + urlQuery, HTTPClient: client,
		Retry: model.RetryPolicy{Attempts: 1},
	})
}

// printed are the ways in which a value may get into a log.
func printed(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%v %+v %#v %s %q %d\n", v, v, v, v, v, v)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "value", v)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "value", v)
	if data, err := json.Marshal(v); err == nil {
		b.Write(data)
	}
	return b.String()
}

func TestNoURLIsPrintedWithItsSecrets(t *testing.T) {
	var fault roundTrip
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return fault(r) })}
	for name, m := range opened(t, client) {
		require.Empty(t, leaks(printed(t, m)), name)
		for what, f := range faults {
			fault = f
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, sink)
				require.Error(t, err, "%s: %s", name, what)
				require.Empty(t, leaks(err.Error()), "%s: %s: %v", name, what, err)
				var api *model.APIError
				require.ErrorAs(t, err, &api, "%s: %s", name, what)
				require.Empty(t, leaks(printed(t, *api)), "%s: %s: %+v", name, what, *api)
			}
			if lister, ok := m.(interface {
				Models(context.Context) ([]string, error)
			}); ok && what != "no answer" {
				_, err := lister.Models(t.Context())
				require.Error(t, err, what)
				require.Empty(t, leaks(err.Error()), "%s: models: %s: %v", name, what, err)
			}
		}
	}
}

func TestNoConfigIsPrintedWithItsSecrets(t *testing.T) {
	good, bad := "https"+withUser+"h.test/v1?"+urlQuery, []string{
		"ftp" + withUser + "h.test?" + urlQuery, "https" + withUser + "h.test/%zz?" + urlQuery, "https" + withUser + "h.test:" + urlShort,
		"https://h.test:" + urlPassword, withUser, "https://" + urlUser + ":" + urlShort + " word@h.test",
	}
	for _, base := range append(bad, good) {
		configs := map[any]func() error{}
		chat := openaimodel.Config{Name: "m", BaseURL: base}
		claude := anthropicmodel.Config{Name: "m", BaseURL: base, APIKey: "k"}
		gemini := geminimodel.Config{Name: "m", BaseURL: base, APIKey: "k"}
		options := model.OpenOptions{BaseURL: base, APIKey: "k"}
		configs[&chat] = func() error { _, err := openaimodel.New(chat); return err }
		configs[&claude] = func() error { _, err := anthropicmodel.New(claude); return err }
		configs[&gemini] = func() error { _, err := geminimodel.New(gemini); return err }
		configs[&options] = func() error {
			var errs []error
			for provider := range model.Providers() {
				_, err := model.OpenWith(t.Context(), provider+":m", options)
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
		for config, open := range configs {
			require.Empty(t, leaks(printed(t, config)), "%T %s", config, base)
			if err := open(); err != nil {
				require.Empty(t, leaks(err.Error()), "%T %s: %v", config, base, err)
			}
		}
	}
}

func TestFetchedURLsArePrintedWithoutTheirSecrets(t *testing.T) {
	inner := model.Func(model.Info{Provider: "p", Name: "m", Media: []string{"image"}}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	})
	for _, at := range []string{
		"https" + withUser + "127.0.0.1/a.png?" + urlQuery, "https" + withUser + "h.test:" + urlShort + "/a.png", "https://127.0.0.1/a.png?" + urlQuery,
		"gopher" + withUser + "h.test/a.png?" + urlQuery, "http://127.0.0.1:1/a.png?" + urlQuery + "#" + urlPassword,
	} {
		_, err := modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{}).Generate(t.Context(), &model.Request{Messages: []*model.Message{{
			Kind: model.KindRequest, Parts: []model.Part{{Kind: model.PartMedia, MediaType: "image/png", URL: at}},
		}}}, nil)
		require.Error(t, err)
		require.Empty(t, leaks(err.Error()), "%s: %v", at, err)
	}
}
