// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"net/http/httptest"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

const bySDK = "the plugin's SDK reads the stream, and cannot read this"

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		return newModel(t, &endpoint{Server: &httptest.Server{URL: url}})
	}
	adaptertest.CheckDisturbed(t, open, stream(text("Hello, wörld"), call("a", "time", `{"at":1}`)), nil, map[string]string{
		"CR": bySDK, "mixed ends of lines": bySDK, "a byte order mark": bySDK, "a mark, CRLF": bySDK,
		"no last empty line": bySDK, "no end of the last line": bySDK,
	})
}
