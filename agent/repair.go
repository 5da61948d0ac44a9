// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/ponte-go/ponte/internal/schema"

// decodeRepaired decodes the text of a model. If it is not JSON but can be repaired in exactly one
// way, decodeRepaired decodes and returns the repaired document; decode decides whether a document
// fits. complete reports that the model had finished writing. See [schema.Repair].
//
// If the text cannot be repaired, the error refers to the original text, which the model knows.
func decodeRepaired(decode func([]byte) (any, error), text []byte, complete bool) (value any, repaired []byte, err error) {
	if value, err = decode(text); err == nil {
		return value, nil, nil
	}
	fixed, ok := schema.Repair(text, complete, func(document []byte) bool {
		_, err := decode(document)
		return err == nil
	})
	if !ok {
		return nil, nil, err
	}
	value, err = decode(fixed)
	return value, fixed, err
}
