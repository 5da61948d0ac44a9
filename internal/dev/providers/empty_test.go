// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// What is empty means the provider's default, so it is sent as if it were not there.
func TestEmptyListsAreNotSent(t *testing.T) {
	var sent string
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		sent = string(body)
		return nil, err
	})}
	body := func(m model.Model, req *model.Request) string {
		sent = ""
		req.Messages = []*model.Message{model.UserText("hi")}
		_, err := m.Generate(t.Context(), req, nil)
		require.Error(t, err)
		return sent
	}
	for name, m := range opened(t, client) {
		plain := body(m, &model.Request{})
		require.NotEmpty(t, plain, name)
		require.Equal(t, plain, body(m, &model.Request{Tools: []model.ToolDef{}, Settings: &model.Settings{
			Stop: []string{}, NativeTools: []model.NativeTool{}, ExtraHeaders: map[string]string{}, ExtraBody: map[string]json.RawMessage{},
		}}), name)
	}
}
