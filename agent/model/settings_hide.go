// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/internal/hide"
)

// MarshalJSON implements [json.Marshaler]. It hides the values of ExtraHeaders and ExtraBody, which
// may be secret.
func (s Settings) MarshalJSON() ([]byte, error) {
	s.ExtraHeaders = hide.Values(s.ExtraHeaders)
	if s.ExtraBody != nil {
		body := map[string]json.RawMessage{}
		for name := range s.ExtraBody {
			body[name] = json.RawMessage(`"` + hide.Mark + `"`)
		}
		s.ExtraBody = body
	}
	type plain Settings // without methods
	return json.Marshal((*plain)(&s))
}

// Format implements [fmt.Formatter]. Every verb prints the JSON.
func (s Settings) Format(f fmt.State, _ rune) {
	data, _ := s.MarshalJSON()
	f.Write(data)
}
