// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge"
)

// Whoever calls an address that does not exist must learn that it does not, from the API in the form of its errors.
func TestUnknownPathsAreNotServed(t *testing.T) {
	s := serve(t, options{})
	page := serve(t, options{Options: webbridge.Options{Page: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "page at "+r.URL.Path)
	})}})
	for _, s := range []*server{s, page} {
		for _, c := range []struct{ method, path string }{
			{"GET", "/api/"}, {"GET", "/api/nothing"}, {"POST", "/api/nothing"}, {"PUT", "/api/sessions"}, {"DELETE", "/api/config"}, {"GET", "/api/sessions/a/b/c"},
			{"GET", "/api/sessionsx"}, {"GET", "/v1/"}, {"POST", "/v1/chat/completions"},
		} {
			v := s.do(c.method, c.path, object{}, 404)["error"].(object)
			require.Equal(t, "not_found", v["kind"])
			require.Contains(t, v["message"], "there is no route "+c.method+" "+c.path)
		}
	}
	for path, want := range map[string]int{"/": 200, "/x": 404, "/index.html": 404, "/apix": 404} {
		status, text := s.send(s.request("GET", path, nil))
		require.Equal(t, want, status, path)
		if want == 200 {
			require.Equal(t, "This server has no page. Its API is described in api/openapi.json.\n", text)
		}
	}
	res, err := http.DefaultClient.Do(page.request("GET", "/x/y", nil))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "page at /x/y", string(text), "what is not of the API is the page's")
}
