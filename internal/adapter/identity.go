// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// Identity returns the identity of a model ([model.Identifier]): a digest of its description,
// address, own settings and what else its configuration has. The address must not have a password.
// A value without a JSON form makes the identity unknown.
func Identity(info model.Info, address string, s *model.Settings, more ...any) string {
	type plain model.Settings // without methods that hide values
	hash := sha256.New()
	for _, v := range append([]any{info, address, (*plain)(s)}, more...) {
		data, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		hash.Write(append(data, '\n'))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
