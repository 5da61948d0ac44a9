// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// maxPreview bounds what a person is shown of a server's description.
const maxPreview = 1000

// approvalOf describes a call to a person. The server's claims are labelled as such. Invisible
// characters are written as escapes, including those of the arguments, where they are valid JSON
// and mean the same.
func approvalOf(d *Definition, args json.RawMessage) *toolset.Approval {
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server: %s\nTool: %s\nArguments:\n%s", d.Server, visible(d.Name, 200), shownJSON(args))
	if d.Description != "" {
		fmt.Fprintf(&b, "\n\nThe server describes the tool as:\n%s", indented(visibleText(d.Description, maxPreview)))
	}
	if claims := d.claims(); claims != "" {
		fmt.Fprintf(&b, "\nThe server claims (not verified): %s", claims)
	}
	name := visible(d.Name, 100)
	return &toolset.Approval{
		Title:      fmt.Sprintf("Call %s of the MCP server %s", name, d.Server),
		Scope:      d.scope(),
		Source:     "mcp:" + d.Server,
		ScopeTitle: fmt.Sprintf("%s of the MCP server %s, as it is defined now", name, d.Server),
		Preview:    []toolset.Preview{{Text: b.String()}},
		Effects:    []toolset.Effect{{Kind: model.EffectServer, Server: d.Server}},
		Basis:      d.Digest,
	}
}

// scope covers the tool as it is defined now.
func (d *Definition) scope() string {
	return fmt.Sprintf("mcp:%s/%s#%s", d.Server, visible(d.Name, 200), d.Digest)
}

// claims lists the server's hints.
func (d *Definition) claims() string {
	var claims []string
	if d.ReadOnly {
		claims = append(claims, "it only reads")
	} else if !d.Destructive {
		claims = append(claims, "it destroys nothing")
	}
	if d.Idempotent {
		claims = append(claims, "repeating it changes nothing more")
	}
	if !d.OpenWorld {
		claims = append(claims, "it stays within its own system")
	}
	return strings.Join(claims, "; ")
}

// shownJSON writes arguments with line breaks, and with escapes for characters that people cannot
// see.
func shownJSON(args json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, args, "  ", "  "); err != nil {
		return "  " + visible(string(args), len(args))
	}
	return "  " + jsonEscaped(b.String())
}

// jsonEscaped writes out the invisible characters of JSON, all of which are in strings.
func jsonEscaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == ' ', r == '\n', show.Visible(r) && r != '⟨':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
