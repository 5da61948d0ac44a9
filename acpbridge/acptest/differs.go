// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// Differs describes where the agent of another recording deviates from the agent of this one, or
// returns "". Messages are compared in their order, without the client's. Ids are compared by the
// order in which they come up. Text that came in several chunks is joined, and _meta is left out.
func (r *Replay) Differs(other *Replay) string {
	a, b := r.said(), other.said()
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("message %d of the agent:\n- %s\n+ %s", i+1, x, y)
		}
	}
	return ""
}

// said returns the agent's messages, one per line.
func (r *Replay) said() []string {
	var all []string
	n := names{}
	var chunk, text string
	flush := func() {
		if chunk != "" {
			all = append(all, fmt.Sprintf("%s %q", chunk, text))
		}
		chunk, text = "", ""
	}
	for i := range r.entries {
		e := &r.entries[i]
		if e.From != acpproxy.FromAgent {
			continue
		}
		kind, more := textChunk(e)
		if kind == "" || kind != chunk {
			flush()
		}
		if kind != "" {
			chunk, text = kind, text+more
			continue
		}
		what := strings.TrimSpace(e.Kind.String() + " " + e.Method + e.asks)
		all = append(all, what+" "+n.plain(slices.Concat(e.Params, e.Result, e.Error)))
	}
	flush()
	return all
}

// textChunk returns the kind and the text of an update that adds text.
func textChunk(e *recorded) (kind, text string) {
	if e.Method != acp.MethodSessionUpdate {
		return "", ""
	}
	var n acp.SessionNotification
	if acp.Unmarshal(e.Params, &n) != nil {
		return "", ""
	}
	for kind, c := range map[string]*acp.ContentChunk{
		"message": n.Update.AgentMessageChunk, "thought": n.Update.AgentThoughtChunk, "user": n.Update.UserMessageChunk,
	} {
		if c != nil && c.Content.Text != nil {
			return kind, c.Content.Text.Text
		}
	}
	return "", ""
}

// names gives ids other names, by the order in which they come up.
type names map[string]string

// plain returns JSON with sorted members, renamed ids and no _meta.
func (n names) plain(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(data)
	}
	out, err := json.Marshal(n.rename("", v))
	if err != nil {
		return string(data)
	}
	return string(out)
}

func (n names) rename(member string, v any) any {
	switch v := v.(type) {
	case string:
		switch member {
		case "sessionId", "toolCallId", "terminalId", "messageId", "requestId", "elicitationId":
			key := member + v
			if n[key] == "" {
				n[key] = fmt.Sprintf("%s-%d", member, len(n)+1)
			}
			return n[key]
		}
	case []any:
		for i := range v {
			v[i] = n.rename("", v[i])
		}
	case map[string]any:
		delete(v, "_meta")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = n.rename(name, v[name])
		}
	}
	return v
}
