// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.json
var document []byte

// OpenAPI returns the OpenAPI document of the API, as JSON.
func OpenAPI() []byte { return append([]byte(nil), document...) }

func (h *Handler) getDocument(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
	return nil
}
