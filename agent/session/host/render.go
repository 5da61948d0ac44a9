// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/internal/markdown"
)

// safely returns a function that renders outputs, and turns a panic of the program's into an error.
func safely(own func(any) (string, error)) func(any) (string, error) {
	if own == nil {
		own = render
	}
	return func(output any) (text string, err error) {
		defer recovered(&err)
		return own(output)
	}
}

// render returns what users are shown of an output, unless the program says it: text as it is, and
// other values as JSON.
func render(output any) (string, error) {
	if v := reflect.ValueOf(output); v.Kind() == reflect.String {
		return v.String(), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(output); err != nil {
		return "", fmt.Errorf("the output has no JSON form: %w", err)
	}
	fence := markdown.Fence(buf.String(), 3)
	return fmt.Sprintf("%sjson\n%s%s", fence, buf.String(), fence), nil
}
