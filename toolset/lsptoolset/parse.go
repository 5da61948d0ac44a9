// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/serverfile"
)

// ParseConfig reads language servers from a configuration file, by name:
//
//	{
//	  "gopls": {"command": ["/opt/gopls"], "settings": {"gopls": {"gofumpt": true}}},
//	  "pyright": {"disabled": true},
//	  "zls": {"command": ["zls"], "files": {".zig": "zig"}, "install": "brew install zls"}
//	}
//
// It returns the known servers with these changes, after new ones. Members that are left out stay
// as they are; settings of a section are merged. Unknown members are errors.
func ParseConfig(data []byte) ([]Server, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return nil, fmt.Errorf("lsptoolset: configuration: %w", err)
	}
	all := Known()
	var added []Server
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		var entry serverfile.Language
		d := json.NewDecoder(bytes.NewReader(given[name]))
		d.DisallowUnknownFields()
		if err := d.Decode(&entry); err != nil {
			what := strings.TrimPrefix(err.Error(), "json: ")
			errs = append(
				errs,
				fmt.Errorf("lsptoolset: configuration: server %q: %s", shown(name, 64), what),
			)
			continue
		}
		i := slices.IndexFunc(all, func(s Server) bool { return s.Name == name })
		switch {
		case i >= 0 && entry.Disabled:
			all = slices.Delete(all, i, i+1)
		case i >= 0:
			setServer(&all[i], &entry)
		case !entry.Disabled:
			s := Server{Name: name}
			setServer(&s, &entry)
			added = append(added, s)
		}
	}
	all = append(added, all...)
	if err := (&Config{Servers: all}).check(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// setServer sets what an entry has.
func setServer(s *Server, e *serverfile.Language) {
	if e.Command != nil {
		s.Command = e.Command
	}
	if e.Files != nil {
		s.Files = e.Files
	}
	if e.Install != "" {
		s.Install = e.Install
	}
	if e.Options != nil {
		s.Options = e.Options
	}
	for section, value := range e.Settings {
		if s.Settings == nil {
			s.Settings = map[string]any{}
		}
		s.Settings[section] = merged(s.Settings[section], value)
	}
}

// merged returns settings with changes.
func merged(settings, changes any) any {
	before, ok := settings.(map[string]any)
	after, both := changes.(map[string]any)
	if !ok || !both {
		return changes
	}
	result := maps.Clone(before)
	for key, value := range after {
		result[key] = merged(before[key], value)
	}
	return result
}
