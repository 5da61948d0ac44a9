// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge"
)

func get(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	webbridge.Page().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

var asset = regexp.MustCompile(`"\./(assets/[\w-]+\.(?:js|css))"`)

// assets returns what the page loads.
func assets(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, m := range asset.FindAllStringSubmatch(body(t, get(t, "GET", "/")), -1) {
		all = append(all, "/"+m[1])
	}
	require.Len(t, all, 2, "a script and a style sheet")
	return all
}

func TestPageHasStrictHeaders(t *testing.T) {
	for _, path := range append(assets(t), "/", "/nothing") {
		r := get(t, "GET", path)
		csp := r.Header.Get("Content-Security-Policy")
		require.True(t, strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';"), path)
		require.NotContains(t, csp, "unsafe")
		require.NotContains(t, csp, "http")
		require.Contains(t, csp, "frame-ancestors 'none'")
		require.Contains(t, csp, "require-trusted-types-for 'script'; trusted-types 'none'")
		require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", r.Header.Get("Cross-Origin-Opener-Policy"))
	}
}

func TestPageHasNothingInline(t *testing.T) {
	page := body(t, get(t, "GET", "/"))
	require.NotRegexp(t, `(?i)<style|\sstyle=|\son\w+=|javascript:`, page)
	require.Len(t, regexp.MustCompile(`<script[^>]*src="\./assets/[^"]+"></script>`).FindAllString(page, -1), strings.Count(page, "<script"))
	require.NotRegexp(t, `(?i)(src|href)="(https?:)?//`, page)
}

func TestAssetsAreCachedForEver(t *testing.T) {
	for _, path := range assets(t) {
		r := get(t, "GET", path)
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Equal(t, "public, max-age=31536000, immutable", r.Header.Get("Cache-Control"))
		require.Contains(t, []string{"text/javascript; charset=utf-8", "text/css; charset=utf-8"}, r.Header.Get("Content-Type"))
		require.Equal(t, http.StatusNotModified, get(t, "GET", path, "If-None-Match", r.Header.Get("ETag")).StatusCode)
	}
	require.Equal(t, "no-cache", get(t, "GET", "/").Header.Get("Cache-Control"))
}

func TestPageIsSmall(t *testing.T) {
	total := 0
	for _, path := range append(assets(t), "/") {
		total += len(body(t, get(t, "GET", path, "Accept-Encoding", "gzip")))
	}
	require.Less(t, total, 300_000, "bytes, with gzip")
}

func TestPageIsCompressedForWhoTakesIt(t *testing.T) {
	plain := body(t, get(t, "GET", "/"))
	for header, packed := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip;q=0.0, br": false, "": false, "identity": false,
	} {
		r := get(t, "GET", "/", "Accept-Encoding", header)
		text := body(t, r)
		require.Equal(t, packed, r.Header.Get("Content-Encoding") == "gzip", header)
		if packed {
			z, err := gzip.NewReader(bytes.NewReader([]byte(text)))
			require.NoError(t, err)
			unpacked, err := io.ReadAll(z)
			require.NoError(t, err)
			text = string(unpacked)
		}
		require.Equal(t, plain, text, header)
		require.Equal(t, "Accept-Encoding", r.Header.Get("Vary"))
	}
}

func TestOtherMethodsAndPathsAreRefused(t *testing.T) {
	r := get(t, "POST", "/")
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	require.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
	require.Empty(t, body(t, get(t, "HEAD", "/")))
	for _, path := range []string{"/assets/", "/assets", "/dist/index.html", "/../handler.go", "/assets/../../handler.go", "/page/package.json"} {
		require.Equal(t, http.StatusNotFound, get(t, "GET", path).StatusCode, path)
	}
}

// The lock file pins the packages by checksum, and leaves the registry to the machine.
func TestLockFileNamesNoRegistry(t *testing.T) {
	lock, err := os.ReadFile(filepath.Join("chatui", "page", "package-lock.json"))
	require.NoError(t, err)
	require.NotContains(t, string(lock), `"resolved"`)
	require.Contains(t, string(lock), `"integrity"`)
	pins, err := os.ReadFile(filepath.Join("chatui", "page", "package.json"))
	require.NoError(t, err)
	require.NotRegexp(t, `": "[\^~>*]`, string(pins))
}

// The licences of the packages that are part of the page go with it.
func TestLicencesAreServed(t *testing.T) {
	text := body(t, get(t, "GET", "/licenses.md"))
	for _, name := range []string{"react", "react-dom", "markdown-it", "lowlight", "highlight.js", "diff", "@tanstack/react-virtual"} {
		require.Regexp(t, `(?m)^#+ `+regexp.QuoteMeta(name)+` `, text)
	}
}
