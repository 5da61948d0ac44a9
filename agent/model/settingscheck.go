// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/ponte-go/ponte/internal/header"
)

// Check returns what is wrong with the settings for every provider, or nil. The settings may be
// nil.
func (s *Settings) Check() error {
	if s == nil {
		return nil
	}
	var wrong []error
	for _, n := range []struct {
		name  string
		value int
	}{{"MaxTokens", s.MaxTokens}, {"CompactAt", s.CompactAt}} {
		if n.value < 0 {
			wrong = append(wrong, fmt.Errorf("the setting %s is %d, must not be negative", n.name, n.value))
		}
	}
	name, value := "Temperature", s.Temperature
	for range 2 {
		if value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)) {
			wrong = append(wrong, fmt.Errorf("the setting %s is %v, must be a number", name, *value))
		}
		name, value = "TopP", s.TopP
	}
	var body, extra string
	for name, value := range s.ExtraBody {
		if !json.Valid(value) {
			body = max(body, strconv.Quote(name))
		}
	}
	for name, value := range s.ExtraHeaders {
		if !header.Valid(name, value) { // net/http would report it as a network error
			extra = max(extra, strconv.Quote(name))
		}
	}
	if body != "" {
		wrong = append(wrong, errors.New("the setting ExtraBody["+body+"] is not valid JSON"))
	}
	if extra != "" {
		wrong = append(wrong, errors.New("the setting ExtraHeaders["+extra+"] is not a valid header"))
	}
	return errors.Join(wrong...)
}
