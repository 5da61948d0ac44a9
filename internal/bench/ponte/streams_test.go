// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ponte_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/bench/work"
)

func TestMain(m *testing.M) {
	work.ServeStreams()
	os.Exit(m.Run())
}

// BenchmarkHTTPStreams measures streams through the adapter alone, and through an agent that is observed.
func BenchmarkHTTPStreams(b *testing.B) {
	work.BenchmarkHTTPStreams(b, map[string]work.HTTPClient{
		"model": func(client *http.Client, baseURL string) work.HTTPStream {
			m := streamModel(client, baseURL)
			return func(ctx context.Context) (pieces int, text string, err error) {
				req := &model.Request{Instructions: work.Instructions, Messages: []*model.Message{model.UserText(work.Prompt)}}
				msg, err := m.Generate(ctx, req, func(d model.Delta) error {
					if d.Kind == model.PartText {
						pieces++
					}
					return nil
				})
				if err != nil {
					return pieces, "", err
				}
				return pieces, msg.Text(), nil
			}
		},
		"agent": func(client *http.Client, baseURL string) work.HTTPStream {
			a := newAgent(streamModel(client, baseURL))
			return func(ctx context.Context) (pieces int, text string, err error) {
				s := a.Stream(ctx, deps{}, work.Prompt)
				for e := range s.Events() {
					if e.Kind == agent.EventPartDelta {
						pieces++
					}
				}
				res, err := s.Result()
				if err != nil {
					return pieces, "", err
				}
				return pieces, res.Output, nil
			}
		},
	})
}

func streamModel(client *http.Client, baseURL string) model.Model {
	return work.Must(openaimodel.New(openaimodel.Config{
		Name: work.StreamModel, BaseURL: baseURL, APIKey: work.StreamKey, Provider: "openai", HTTPClient: client,
	}))
}
