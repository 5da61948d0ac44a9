// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/json"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
)

// Streams reports whether m asks for a stream if there is no sink.
func Streams(m *Model, req *model.Request) bool {
	settings := m.settings.Merge(req.Settings)
	if settings == nil {
		settings = &model.Settings{}
	}
	_, stream, err := m.body(req, settings, false, "")
	return err == nil && stream
}

// RequestBody returns the body that m sends for a stream.
func RequestBody(m *Model, req *model.Request) ([]byte, error) {
	body, _, err := m.body(req, &model.Settings{}, true, "")
	return body, err
}

// LimitResponses lowers the limit for the size of a response until the test ends.
func LimitResponses(t testing.TB, size int) {
	before := maxResponse
	maxResponse = size
	t.Cleanup(func() { maxResponse = before })
}

// SizeOf is the memory that is set aside for the messages of a request.
func SizeOf(m *Model, req *model.Request) (int, error) {
	params, err := m.params(req, &model.Settings{})
	return sizeOf(params.Messages), err
}

// FitSchema exposes fitSchema.
var FitSchema = fitSchema

// SDKBody returns the body of a request as the SDK writes it.
func SDKBody(m *Model, req *model.Request) ([]byte, error) {
	params, err := m.params(req, &model.Settings{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(params)
}
