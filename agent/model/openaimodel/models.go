// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// Models returns the names of the models that the endpoint offers, in its order. It makes one
// request without retries, so it is also a quick test whether a server is available. Use ctx to
// limit the time. It uses the address, key and headers of m, but not its model name.
func (m *endpoint) Models(ctx context.Context) (names []string, err error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	attemptCtx, dog := adapter.Watch(ctx, m.timeouts)
	defer dog.Finish(false) // the whole body is read

	var extra map[string]string
	if m.settings != nil {
		extra = m.settings.ExtraHeaders
	}
	defer func() { adapter.HideHeaders(err, extra) }()
	resp, err := m.send(attemptCtx, http.MethodGet, "/models", nil, extra)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(dog.Guard(resp.Body), maxEvent))
	}
	expired := dog.Expired(attemptCtx)
	switch {
	case ctx.Err() != nil:
		return nil, errs.Errorf("openaimodel: %w", adapter.Cancelled(ctx, m.info, nil))
	case expired != nil:
		return nil, m.timedOut(expired)
	case resp == nil:
		return nil, err
	case err != nil:
		return nil, m.brokenResponse(resp, adapter.BrokeOff(err), true)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Object string `json:"object"`
	}
	if err := json.Unmarshal(body, &list); resp.StatusCode > 299 || err != nil || list.Data == nil && list.Object != "list" {
		return nil, m.errorOf(resp, body)
	}
	names = make([]string, 0, len(list.Data))
	for i := range list.Data {
		names = append(names, list.Data[i].ID)
	}
	return names, nil
}
