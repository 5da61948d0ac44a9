// SPDX-License-Identifier: Apache-2.0

package agentcall

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Call is what an agent says of a call.
type Call struct {
	// Kind is the kind that the agent claims.
	Kind toolset.Kind
	// Input are the arguments.
	Input json.RawMessage
	// Places are the files that the agent says the call is about.
	Places []string
	// Shown is set if the call shows its changes, or text, and Opaque if it shows a terminal, or
	// what nobody knows.
	Shown, Opaque bool
}

// Names of arguments that name files, and directories.
var (
	filing = strings.Fields(`path paths file files filepath filename absolutepath abspath
		relativepath uri fileuri`)
	listing = strings.Fields(`dir directory root`)
)

// Effects returns the effects of a call, without those of its changes and its command. A relative
// path is one of dir. The files that it names are read, or written if the kind is none that looks
// at files; what else such a call does is unknown.
func (c *Call) Effects(dir string) (effects []model.Effect) {
	_, runs := Command(c.Input)
	if c.Opaque || !runs && !Known(c.Input, c.Shown) {
		effects = append(effects, model.Effect{Kind: model.EffectUnknown})
	}
	files, dirs, hosts := c.named()
	kind := model.EffectRead
	switch c.Kind {
	case toolset.KindRead, toolset.KindThink, toolset.KindExecute, toolset.KindFetch:
	case toolset.KindSearch: // of all files below
		dirs, files = append(dirs, files...), nil
	default:
		kind = model.EffectWrite
	}
	for _, h := range hosts {
		effects = append(effects, model.Effect{Kind: model.EffectHost, Host: h})
	}
	for _, d := range dirs {
		files = append(files, strings.TrimSuffix(d, "/")+"/")
	}
	for _, f := range files {
		end := ""
		if f = strings.ReplaceAll(f, `\`, "/"); strings.HasSuffix(f, "/") {
			end = "/"
		}
		if !path.IsAbs(f) && dir != "" && (len(f) < 2 || f[1] != ':') {
			f = path.Join(dir, f)
		}
		if f = path.Clean(f); f != "/" {
			f += end
		}
		effects = append(effects, model.Effect{Kind: kind, Path: f})
	}
	if kind == model.EffectWrite && len(files) > 0 && !c.Shown && !runs {
		effects = append(effects, model.Effect{Kind: model.EffectUnknown})
	}
	return effects
}

// named returns the files, the directories and the hosts that a call names.
func (c *Call) named() (files, dirs, hosts []string) {
	files = slices.Clone(c.Places)
	var in map[string]json.RawMessage
	if json.Unmarshal(c.Input, &in) != nil {
		return files, nil, nil
	}
	for name, raw := range in {
		name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		var one string
		var all []string
		if json.Unmarshal(raw, &one) == nil {
			all = []string{one}
		} else if json.Unmarshal(raw, &all) != nil {
			continue
		}
		for _, text := range all {
			u, err := url.Parse(text)
			switch remote := err == nil && u.Host != ""; {
			case text == "":
			case remote && (name == "url" || slices.Contains(filing, name)):
				hosts = append(hosts, strings.ToLower(u.Hostname()))
			case slices.Contains(filing, name):
				files = append(files, strings.TrimPrefix(text, "file://"))
			case slices.Contains(listing, name):
				dirs = append(dirs, text)
			}
		}
	}
	for _, names := range []*[]string{&files, &dirs, &hosts} { // a map has no order
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return files, dirs, hosts
}
