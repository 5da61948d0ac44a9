// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// offline answers without a network, so only the work in the process is measured.
type offline struct{}

func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(hi)), Request: r}, nil
}

// BenchmarkStep compares a request with history through the plugin with one through Ponte's own adapter.
func BenchmarkStep(b *testing.B) {
	offline := &http.Client{Transport: offline{}}
	through, err := openaidialect.New(openaidialect.Config{Name: "m", APIKey: testKey, HTTPClient: offline})
	if err != nil {
		b.Fatal(err)
	}
	own, err := openaimodel.New(openaimodel.Config{Name: "m", APIKey: testKey, Provider: "openai", HTTPClient: offline})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 100, 1000} {
		req := &model.Request{}
		for i := range n {
			msg := model.UserText(fmt.Sprintf("What is the weather in place number %d, and will it be the same tomorrow?", i))
			if i%2 == 1 {
				msg = model.Response(model.Text(fmt.Sprintf("It is raining in place number %d, as it has been for weeks.", i)))
			}
			req.Messages = append(req.Messages, msg)
		}
		for name, m := range map[string]model.Model{"openaidialect": through, "openaimodel": own} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Generate(b.Context(), req, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
