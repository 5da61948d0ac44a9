// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/internal/hide"
)

// Format implements [fmt.Formatter]. It hides arguments, settings and the values of Env, which may
// be secrets.
func (s Server) Format(f fmt.State, verb rune) { hide.Format(f, verb, s.shown()) }

// LogValue implements [slog.LogValuer].
func (s Server) LogValue() slog.Value { return hide.Log(s) }

// MarshalJSON implements [json.Marshaler]. It hides what Format hides.
func (s Server) MarshalJSON() ([]byte, error) { return json.Marshal(s.shown()) }

type shownServer Server

func (s Server) shown() shownServer {
	if len(s.Command) > 1 {
		s.Command = append(s.Command[:1:1], hide.Texts(s.Command[1:])...)
	}
	s.Env = hide.Env(s.Env)
	if s.Settings != nil {
		s.Settings = map[string]any{hide.Mark: hide.Mark}
	}
	if s.Options != nil {
		s.Options = hide.Mark
	}
	return shownServer(s)
}
