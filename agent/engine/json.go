// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the version of the JSON form of tasks, results and reports that this package writes. New fields do not change it. It
// changes only if a program that knows an older version would misunderstand what it reads.
const Version = 1

// ErrVersion is the identity of the error for JSON of a newer version than [Version].
var ErrVersion = errors.New("version is newer than this program")

// unmarshal reads JSON into form. what names the form in errors.
func unmarshal(what string, data []byte, form any) error {
	var envelope struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return fmt.Errorf("engine: %s: %w", what, err)
	}
	if envelope.Version > Version {
		return fmt.Errorf("engine: %s: %w: %d, this program reads up to %d", what, ErrVersion, envelope.Version, Version)
	}
	if err := json.Unmarshal(data, form); err != nil {
		return fmt.Errorf("engine: %s: %w", what, err)
	}
	return nil
}
