// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

var png = []byte("\x89PNG\r\n\x1a\nand so on")

// local allows downloads from the test's own servers.
var local = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// eye is a model that accepts images and PDF as data, and images by URL if urls says so. It records what it was shown.
type eye struct {
	urls  []string
	shown []*model.Request
}

func (e *eye) Info() model.Info {
	return model.Info{Provider: "test", Name: "eye", Media: []string{"image", "application/pdf"}, MediaURLs: e.urls}
}

func (e *eye) Generate(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	e.shown = append(e.shown, req)
	return say("seen"), nil
}

func show(mediaType, url string) *model.Request {
	return &model.Request{Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{
		model.User("what is this?"), {Kind: model.PartMedia, MediaType: mediaType, URL: url, Name: "x"},
	}}}}
}

// pictures serves files and counts requests.
func pictures(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	mux := http.NewServeMux()
	serve := func(path, contentType, content string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header()["Content-Type"] = nil
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			_, _ = io.WriteString(w, content)
		})
	}
	serve("/cat.png", "image/png", string(png))
	serve("/untyped", "", string(png))
	serve("/octets", "application/octet-stream", "not a known type \x00\x01")
	serve("/page", "text/html; charset=utf-8", "<html><body>Please log in")
	serve("/lying", "image/png", "<html><body>Please log in")
	serve("/photo.png", "image/png", "\xff\xd8\xff and so on")
	mux.HandleFunc("/compressed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write(png)
		_ = zip.Close()
	})
	serve("/empty", "image/png", "")
	serve("/large", "image/png", strings.Repeat("x", 2000))
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/again", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(r.Header)
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write(text)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, &asked
}

func TestFetchMediaReplacesURLs(t *testing.T) {
	server, asked := pictures(t)
	e := &eye{}
	m := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local})
	require.Equal(t, []string{"image", "application/pdf"}, m.Info().MediaURLs)

	req := show("image/png", server.URL+"/cat.png")
	req.Messages = append(req.Messages, show("", server.URL+"/untyped").Messages...)
	req.Messages = append(req.Messages, model.UserText("and?"))
	before, err := json.Marshal(req.Messages)
	require.NoError(t, err)
	for range 3 {
		_, err = m.Generate(t.Context(), req, nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, asked.Load(), "downloads are cached")
	after, err := json.Marshal(req.Messages)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the history keeps the URL")
	for _, shown := range e.shown {
		require.Len(t, shown.Messages, 3)
		require.Same(t, req.Messages[2], shown.Messages[2])
		for _, msg := range shown.Messages[:2] {
			require.Equal(t, model.Part{Kind: model.PartMedia, MediaType: "image/png", Data: png, Name: "x"}, msg.Parts[1])
		}
	}
}

func TestFetchMediaDownloadsOnlyWhenNeeded(t *testing.T) {
	server, asked := pictures(t)
	url := server.URL + "/cat.png"
	e := &eye{urls: []string{"image"}}
	req := show("image/png", url)
	_, err := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local}).Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Same(t, req, e.shown[0])

	data := show("image/png", url)
	data.Messages[0].Parts[1].Data = []byte("there already")
	response := &model.Request{Messages: []*model.Message{
		{Kind: model.KindResponse, Parts: []model.Part{{Kind: model.PartMedia, MediaType: "image/png", URL: url}}}, model.UserText("and?"),
	}}
	for _, req := range []*model.Request{ask("hello"), data, response} {
		_, err = modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{AllowPrivate: local}).Generate(t.Context(), req, nil)
		require.NoError(t, err)
	}
	require.Zero(t, asked.Load())

	always := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local, Always: true, CacheBytes: -1})
	for range 2 {
		_, err = always.Generate(t.Context(), req, nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, asked.Load(), "every request downloads without a cache")
	require.Equal(t, png, e.shown[1].Messages[0].Parts[1].Data)
}

func TestFetchErrorsPrecedeTheRequest(t *testing.T) {
	server, _ := pictures(t)
	for name, test := range map[string]struct {
		mediaType, path string
		says            string
		is              error
		status          int
	}{
		"missing":       {"image/png", "/missing?token=secret", "HTTP 404 Not Found", nil, 404},
		"a page":        {"image/png", "/page", "it is text/html, not image/png", nil, 200},
		"a lying page":  {"image/png", "/lying", "it is a page, not image/png", nil, 200},
		"lying alone":   {"", "/lying", "it is a page, not image/png", nil, 200},
		"compressed":    {"image/png", "/compressed", "response is compressed (gzip)", nil, 200},
		"another kind":  {"application/pdf", "/cat.png", "it is image/png, not application/pdf", nil, 200},
		"empty":         {"image/png", "/empty", "response is empty", nil, 200},
		"too large":     {"image/png", "/large", "2000 bytes, limit 1000", modelwrap.ErrMediaTooLarge, 200},
		"endless":       {"image/png", "/endless", "limit 1000 bytes", modelwrap.ErrMediaTooLarge, 200},
		"silent":        {"image/png", "/silent", "timed out after", os.ErrDeadlineExceeded, 0},
		"in circles":    {"image/png", "/again", "more than 5 redirects", nil, 0},
		"to the cloud":  {"image/png", "/to?url=http://169.254.169.254/latest/meta-data", "not public: 169.254.169.254", modelwrap.ErrPrivateAddress, 0},
		"to a file":     {"image/png", "/to?url=file:///etc/passwd", `scheme "file" is not supported`, nil, 0},
		"to a password": {"image/png", "/to?url=http://user:word@example.com/", "credentials", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &eye{}
			policy := modelwrap.FetchPolicy{AllowPrivate: local, MaxBytes: 1000}
			if test.path == "/silent" {
				policy.Timeout = 100 * time.Millisecond
			}
			m := modelwrap.FetchMedia(e, policy)
			_, err := m.Generate(t.Context(), show(test.mediaType, server.URL+test.path), nil)
			var failed *modelwrap.FetchError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, "modelwrap: cannot fetch "+server.URL)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "word@")
			require.Equal(t, test.status, failed.Status)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			require.Empty(t, e.shown)
		})
	}
}

func TestDataURLsNeedNoNetwork(t *testing.T) {
	for url, want := range map[string]model.Part{
		"data:image/png;base64,aGk=":       {MediaType: "image/png", Data: []byte("hi")},
		"DATA:image/svg+xml,%3Csvg%3E":     {MediaType: "image/svg+xml", Data: []byte("<svg>")},
		"data:;base64,aGk=":                {MediaType: "text/plain", Data: []byte("hi")},
		"data:image/png;BASE64,a%47\nk%3D": {MediaType: "image/png", Data: []byte("hi")},
		"data:image/png;base64,aGk":        {MediaType: "image/png", Data: []byte("hi")},
	} {
		e := &eye{urls: []string{"image"}}
		_, err := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{MaxBytes: math.MaxInt64, MaxTotalBytes: math.MaxInt64}).Generate(t.Context(), show("", url), nil)
		require.NoError(t, err, url)
		want.Kind, want.Name = model.PartMedia, "x"
		require.Equal(t, want, e.shown[0].Messages[0].Parts[1], url)
	}
	for _, url := range []string{"data:image/png", "data:image/png;base64,a!", "data:,%zz", "data:,", "data:," + strings.Repeat("x", 101), "data:," + strings.Repeat("x", 1000)} {
		_, err := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{MaxBytes: 100}).Generate(t.Context(), show("", url), nil)
		require.ErrorAs(t, err, new(*modelwrap.FetchError), url)
		require.ErrorContains(t, err, "modelwrap: cannot fetch data:: ")
	}
}

func TestFetchEndsWithTheContext(t *testing.T) {
	server, _ := pictures(t)
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	m := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{AllowPrivate: local})
	req := show("image/png", server.URL+"/silent")
	for n := range 6 {
		req.Messages = append(req.Messages, show("image/png", fmt.Sprintf("%s/silent?%d", server.URL, n)).Messages...)
	}
	_, err := m.Generate(ctx, req, nil)
	require.ErrorIs(t, err, why)
	require.False(t, errors.As(err, new(*modelwrap.FetchError)))
}

func TestFetchObeysForbidRequests(t *testing.T) {
	server, asked := pictures(t)
	restore := model.ForbidRequests()
	defer restore()
	_, err := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{AllowPrivate: local}).Generate(t.Context(), show("image/png", server.URL+"/cat.png"), nil)
	require.ErrorIs(t, err, model.ErrRequestsForbidden)
	require.Zero(t, asked.Load())
}

func TestInvalidFetchPolicyPanics(t *testing.T) {
	require.Panics(t, func() { modelwrap.FetchMedia(nil, modelwrap.FetchPolicy{}) })
	require.Panics(t, func() { modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{MaxBytes: -1}) })
	require.Panics(t, func() { modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{MaxTotalBytes: -1}) })
	require.Panics(t, func() { modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{Timeout: -1}) })
	require.Panics(t, func() { modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{Header: http.Header{"A": {"b\n"}}}) })
}

func TestFetchDeterminesTheMediaType(t *testing.T) {
	server, asked := pictures(t)
	e := &eye{}
	m := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local})
	_, err := m.Generate(t.Context(), show("image/png", server.URL+"/photo.png"), nil)
	require.NoError(t, err)
	require.Equal(t, "image/jpeg", e.shown[0].Messages[0].Parts[1].MediaType, "providers look at the data too")

	// A URL cannot be an image in one place and a document in another.
	both := show("image/png", server.URL+"/cat.png")
	both.Messages = append(both.Messages, show("application/pdf", server.URL+"/cat.png").Messages...)
	_, err = m.Generate(t.Context(), both, nil)
	require.ErrorContains(t, err, "it is image/png, not application/pdf")

	before := asked.Load()
	film := show("video/mp4", server.URL+"/film")
	_, err = m.Generate(t.Context(), film, nil)
	require.NoError(t, err)
	require.Equal(t, before, asked.Load(), "unsupported media is not downloaded")
	require.Same(t, film, e.shown[len(e.shown)-1], "the model returns the error")
}

func TestFetchLimitsTheTotalSize(t *testing.T) {
	server, _ := pictures(t)
	req := show("image/png", server.URL+"/cat.png?1")
	req.Messages = append(req.Messages, show("image/png", server.URL+"/cat.png?2").Messages...)
	for most, ok := range map[int]bool{2*len(png) - 1: false, 2 * len(png): true} {
		e := &eye{}
		_, err := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local, MaxTotalBytes: int64(most)}).Generate(t.Context(), req, nil)
		if ok {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, modelwrap.ErrMediaTooLarge)
		require.Empty(t, e.shown)
	}
}

// FuzzMediaURL feeds URLs that need no network. The result is data or an error with the reason.
func FuzzMediaURL(f *testing.F) {
	for _, seed := range []string{"data:image/png;base64,aGk=", "data:,x", "data:;;;,%", "data:text/plain;charset=\xff,", "file:///x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if lower := strings.ToLower(url); url == "" || strings.HasPrefix(lower, "http") {
			t.Skip("it would need a network")
		}
		e := &eye{}
		_, err := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{}).Generate(t.Context(), show("", url), nil)
		if err != nil {
			require.ErrorAs(t, err, new(*modelwrap.FetchError))
			require.Empty(t, e.shown)
			return
		}
		p := e.shown[0].Messages[0].Parts[1]
		require.NotEmpty(t, p.Data)
		require.NotEmpty(t, p.MediaType)
	})
}

func ExampleFetchMedia() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(png)
	}))
	defer server.Close()

	e := &eye{} // like a model whose provider fetches no URLs
	m := modelwrap.FetchMedia(e, modelwrap.FetchPolicy{AllowPrivate: local, MaxBytes: 5 << 20})
	_, err := m.Generate(context.Background(), show("image/png", server.URL+"/cat.png"), nil)
	fmt.Println(err, len(e.shown[0].Messages[0].Parts[1].Data), "bytes")

	_, err = modelwrap.FetchMedia(e, modelwrap.FetchPolicy{}).Generate(context.Background(), show("image/png", "http://127.0.0.1/x"), nil)
	fmt.Println(err)
	// Output:
	// <nil> 17 bytes
	// modelwrap: cannot fetch http://127.0.0.1/x: address is not public: 127.0.0.1
}
