// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/ponte-go/ponte/internal/schema"

// decodeRepaired decodes what a model wrote. If that is not JSON, and there is one document that it can be, it decodes this
// document and returns it as repaired. Whether a document fits is decided by decode. complete says that the model had
// finished writing: see [schema.Repair].
//
// If nothing can be repaired the error is that of the text as it stands, so that the model is told of its own words.
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
