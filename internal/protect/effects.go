// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// Written returns the protected path that effects may write, with the path that they name; nil if
// there is none. Whatever an unknown effect names counts as written. What may write every file may
// write all of them.
func Written(effects []model.Effect) (*Path, string) {
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case model.EffectWrite:
			if p := Find(e.Path); p != nil {
				return p, e.Path
			}
			if e.Path == "/" {
				return &paths()[0], e.Path
			}
		case model.EffectUnknown:
			for _, name := range command.Named(*e) {
				if p := Find(name); p != nil {
					return p, name
				}
			}
		}
	}
	return nil, ""
}
